import type { Group } from './support/figures.js'
export const group: Group = { title: 'import', run: () => Promise.resolve('not written') }
