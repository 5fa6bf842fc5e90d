// Loaded for its effect: it exports nothing.
export {};
