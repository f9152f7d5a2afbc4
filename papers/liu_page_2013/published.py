"""Numbers printed in the paper."""

# Table 1: seconds of a run, by experiment, method and number of training samples.
SECONDS: dict[str, dict[str, dict[int, float]]] = {
    "small-grid": {
        "exact": {100: 88136.3, 500: 91055.0, 1000: 92503.4},
        "auxiliary-variable": {100: 540.2, 500: 3342.2, 1000: 4546.7},
        "stripped-beta": {100: 8.1, 500: 10.8, 1000: 14.2},
    }
}
# Table 2, by the session trained on and method; its run times are minutes.
SENATE: dict[int, dict[str, dict[str, float]]] = {
    1: {
        "mle": {"lpl_train": -10716.75, "lpl_test": -9022.01},
        "stripped-beta": {"lpl_train": -10721.34, "lpl_test": -8989.87, "n_groups": 7.89, "seconds": 204},
    },
    2: {
        "mle": {"lpl_train": -8306.17, "lpl_test": -11490.47},
        "stripped-beta": {"lpl_train": -8322.34, "lpl_test": -11446.45, "n_groups": 7.29, "seconds": 183},
    },
}
