/** An addition to TOML settings: a table between comment lines at the end of the file, which changes nothing before it. */
import { lineBreakOf } from '../../../lib/platform.js'
import type { Addition } from './installation.js'
import type { Inserted } from './json-addition.js'
import { unusable } from './settings-file.js'

type TomlAddition = Extract<Addition, { readonly kind: 'toml' }>

const BEGIN = '# >>> context-ledger: written by `context-ledger install`, removed by `context-ledger install --remove`'
const END = '# <<< context-ledger'

const pattern = (name: string): string => `(?:${name}|"${name}"|'${name}')`

/** Adds the table. Undefined if the file has the same block. */
export function addToml(text: string, { file, table: [parent, name], lines }: TomlAddition): Inserted | undefined {
  const newline = lineBreakOf(text)
  const block = [BEGIN, `[${parent}.${name}]`, ...lines, END, ''].join(newline)
  if (text.includes(block)) return undefined
  const isTaken = new RegExp(
    String.raw`^[ \t]*(?:\[[ \t]*${pattern(parent)}[ \t]*\.[ \t]*${pattern(name)}[ \t]*[\].]|${pattern(parent)}[ \t]*(?:=|\.[ \t]*${pattern(name)}[ \t]*[=.])|${BEGIN})`,
    'mu',
  ).test(text)
  if (isTaken)
    throw unusable(file, `already has ${parent}.${name}, which this command did not write: remove or rename it first`)
  const lead = text === '' ? '' : text.endsWith('\n') ? newline : `${newline}${newline}`
  return { text: `${text}${lead}${block}`, insertion: `${lead}${block}` }
}

/** The command and its arguments in the table that was added, as they are now. Undefined if there is no such table. */
export function commandInToml(
  text: string,
  { table: [parent, name] }: TomlAddition,
): readonly [string, ...string[]] | undefined {
  const rows = text.split(/\r?\n/u)
  const start = rows.indexOf(`[${parent}.${name}]`)
  if (start < 0) return undefined
  const end = rows.findIndex((row, at) => at > start && row.startsWith('['))
  const table = rows.slice(start + 1, end < 0 ? undefined : end)
  /** A basic string of TOML, or a list of them, is written like JSON. */
  const valueOf = (key: string): unknown => {
    const row = table.find((each) => each.startsWith(`${key} = `))
    try {
      return row === undefined ? undefined : JSON.parse(row.slice(`${key} = `.length))
    } catch {
      return undefined
    }
  }
  const [command, ...args] = [valueOf('command'), valueOf('args') ?? []].flat()
  const isText = (value: unknown): value is string => typeof value === 'string'
  return isText(command) && args.every(isText) ? [command, ...args] : undefined
}
