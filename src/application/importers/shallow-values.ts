/** Records without values that are nested so deeply that a recursive function runs out of stack. */
import { isTooDeep } from '../../lib/nesting.js'
import { textOfValue } from './content-part.js'
import type { Importer } from './transcript.js'

/** A reader keeps values of `MAX_LEVELS` as they are, and has to be able to walk through these. */
const LEVELS = 500

/** The value, with its JSON text instead of each value that is nested too deeply. */
export const shallow = (value: unknown): unknown => (isTooDeep(value, LEVELS) ? cut(value, LEVELS) : value)

function cut(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return textOfValue(value)
  return Array.isArray(value)
    ? value.map((item: unknown) => cut(item, levels - 1))
    : Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cut(item, levels - 1)]))
}

/** The importer, with readers that get no record nested too deeply. */
export const withShallowValues = (importer: Importer): Importer => ({
  ...importer,
  read(path, contentId) {
    const reader = importer.read(path, contentId)
    return { take: ({ value, where }) => reader.take({ value: shallow(value), where }), end: () => reader.end() }
  },
})
