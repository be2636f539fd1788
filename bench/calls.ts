import type { Group } from './support/figures.js'
export const group: Group = { title: 'calls', run: () => Promise.resolve('not written') }
