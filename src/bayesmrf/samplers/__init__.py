"""Drawing states x given theta."""
