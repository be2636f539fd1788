/**
 * The declarations that the package ships: whoever uses it reads what each public thing is for where they write its
 * name.
 */
import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const START = 'dist/types/src/index.d.ts'
/** The entry points beside it. */
const SDKS = ['ai-sdk', 'claude-agent-sdk', 'langchain', 'openai-agents'].map(
  (sdk) => `dist/types/src/interfaces/sdk/${sdk}/index.d.ts`,
)
const read = (path: string): string => readFileSync(path, 'utf8')
const declarationsOf = (path: string, module: string): string => join(dirname(path), module.replace(/\.js$/u, '.d.ts'))
/** The names in `{ a, type b, c as d }`: as they are called where they come from. */
const namesIn = (list: string): string[] =>
  list.split(',').flatMap(
    (entry) =>
      entry
        .trim()
        .replace(/^type /u, '')
        .split(' as ')[0]
        ?.trim() || [],
  )

interface Exported {
  readonly name: string
  readonly path: string
}

/** What a file of declarations exports, and the file that says it. */
function exportsOf(path: string): Exported[] {
  const text = read(path)
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?/gmu)].flatMap(
    ([, list = '', module]) =>
      namesIn(list).map((name) => ({ name, path: module === undefined ? path : declarationsOf(path, module) })),
  )
  const all = [...text.matchAll(/^export type \* from '([^']+)'/gmu)].flatMap(([, module = '']) =>
    exportsOf(declarationsOf(path, module)),
  )
  const exportedNames = [...text.matchAll(/^export (?:declare )?(?:interface|type|class|const|function) (\w+)/gmu)].map(
    ([, name = '']) => ({ name, path }),
  )
  return [...listed, ...all, ...exportedNames]
}

/** Where a name is declared: the lines of the file, and the line. */
function declaration({
  name,
  path,
}: Exported): { readonly lines: readonly string[]; readonly at: number; readonly path: string } | undefined {
  const text = read(path)
  const lines = text.split('\n')
  const at = lines.findIndex((line) =>
    new RegExp(String.raw`^(?:export )?(?:declare )?(?:interface|type|class|const|function) ${name}\b`, 'u').test(line),
  )
  if (at !== -1) return { lines, at, path }
  const module = [...text.matchAll(/^(?:export|import) (?:type )?\{([^}]*)\} from '([^']+)'/gmu)].find(
    ([, list = '']) => namesIn(list).includes(name),
  )?.[2]
  return module === undefined ? undefined : declaration({ name, path: declarationsOf(path, module) })
}

/** What of an exported thing has no comment: itself, or properties of it. */
function unexplained(exported: Exported): string[] {
  const found = declaration(exported)
  if (found === undefined) return [`${exported.name} is declared nowhere`]
  const { lines, at } = found
  const isExplained = (line: number): boolean => lines[line - 1]?.trimEnd().endsWith('*/') === true
  const properties = /\binterface\b/u.test(lines[at] ?? '') ? unexplainedProperties(lines, at) : []
  return [
    ...(isExplained(at) ? [] : [exported.name]),
    ...[...properties, ...unexplainedOptions(found)].map((name) => `${exported.name}.${name}`),
  ]
}

/** The properties without a comment in the braces that a line opens. */
function unexplainedProperties(lines: readonly string[], at: number): string[] {
  const end = lines.findIndex((line, index) => index > at && line.startsWith('}'))
  return lines.slice(at + 1, end).flatMap((line, offset) => {
    const name = /^ {4}(?:readonly )?(\w+)\??[:(<]/u.exec(line)?.[1]
    return name === undefined || lines[at + offset]?.trimEnd().endsWith('*/') === true ? [] : [name]
  })
}

/** The options without a comment of a type that derives from a call. */
function unexplainedOptions({ lines, at, path }: NonNullable<ReturnType<typeof declaration>>): string[] {
  const { module, call } =
    /(?:OptionsOf|InputOf)<.*typeof (?:(?<module>\w+)\.)?(?<call>\w+)>/u.exec(lines[at] ?? '')?.groups ?? {}
  const list = lines.findIndex((line) => line.startsWith('export declare const policySettings:'))
  if (call === undefined)
    return lines[at]?.includes(' PolicySettings =') === true ? unexplainedProperties(lines, list) : []
  const importLine = lines.find((each) =>
    module === undefined
      ? each.startsWith('import type {') && namesIn(/\{(.*)\}/u.exec(each)?.[1] ?? '').includes(call)
      : each.startsWith(`import type * as ${module} `),
  )
  const file = / from '([^']+)'/u.exec(importLine ?? '')?.[1]
  if (file === undefined) return [`of ${call} are declared nowhere`]
  const declared = read(declarationsOf(path, file)).split('\n')
  return unexplainedProperties(
    declared,
    declared.findIndex((line) => line.startsWith(`export declare const ${call}:`)),
  )
}

describe('the declarations of the package', () => {
  it('explain each thing that it exports, and each of their properties', () => {
    const exported = [START, ...SDKS].flatMap(exportsOf)
    expect(exported.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['openLedger', 'Ledger', 'PolicySettings', 'SearchHit', 'SummarizerConfig']),
    )
    expect([...new Set(exported.flatMap(unexplained))]).toEqual([])
  })
})
