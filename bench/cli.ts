import type { Group } from './support/figures.js'
export const group: Group = { title: 'cli', run: () => Promise.resolve('not written') }
