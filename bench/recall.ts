import type { Group } from './support/figures.js'
export const group: Group = { title: 'recall', run: () => Promise.resolve('not written') }
