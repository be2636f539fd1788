import type { Group } from './support/figures.js'
export const group: Group = { title: 'search', run: () => Promise.resolve('not written') }
