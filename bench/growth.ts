import type { Group } from './support/figures.js'
export const group: Group = { title: 'growth', run: () => Promise.resolve('not written') }
