"""What every other part of fastbin uses: errors with fields, checks, names for arrays, text and frames."""
