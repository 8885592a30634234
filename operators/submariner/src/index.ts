export const name = 'submariner';
