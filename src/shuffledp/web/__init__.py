"""The planner in the browser: forms that describe themselves, answers that stream, and a page that draws them."""
