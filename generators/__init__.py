"""From a study file to the C text of every variant; knows no compiler and starts nothing."""
