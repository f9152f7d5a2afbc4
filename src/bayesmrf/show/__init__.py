"""What all answers are shown with: tables, pages and the style of pictures."""
