"""Murray and Ghahramani (2004), reproduced on the public interface."""
