export const name = 'sesame';
