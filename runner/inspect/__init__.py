"""Objects to lowerings: decoded, followed, classified; nothing is run."""
