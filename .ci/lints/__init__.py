"""Rules of this project that no linter knows: one small module per rule."""
