import type { Group } from './support/figures.js'
export const group: Group = { title: 'rebuild', run: () => Promise.resolve('not written') }
