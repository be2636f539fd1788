/**
 * The arrows of the house, read from the imports: a folder imports itself and what lies to the left of it, and
 * neighbours never each other.
 */
import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, sep } from 'node:path'
import { parseSync } from 'oxc-parser'
import { isRecord } from '../src/lib/is-record.js'

const CORE = ['src/lib', 'src/domain', 'src/ports'] as const
const CAPABILITIES = [
  'src/application/recording',
  'src/application/working-state',
  'src/application/compaction',
  'src/application/history',
  'src/application/loss-report',
  'src/application/losses',
  'src/application/recall',
  'src/application/rules',
  'src/application/handoff',
  'src/application/search',
  'src/application/editions',
  'src/application/proof',
  'src/application/audit',
  'src/application/erasure',
  'src/application/retention',
  'src/application/backup',
  'src/application/importers',
] as const

const LEFT_OF: Readonly<Record<string, readonly string[]>> = {
  'src/lib': [],
  'src/application/secrets': ['src/lib'],
  'src/domain': ['src/lib'],
  'src/ports': ['src/lib', 'src/domain'],
  'src/application/sealing': CORE,
  'src/application/recording': [...CORE, 'src/application/secrets', 'src/application/sealing'],
  'src/application/erasure': [...CORE, 'src/application/sealing', 'src/application/recording'],
  'src/application/retention': [...CORE, 'src/application/recording', 'src/application/erasure'],
  'src/application/working-state': [...CORE, 'src/application/loss-report', 'src/application/summarizers'],
  'src/application/compaction': [
    ...CORE,
    'src/application/secrets',
    'src/application/recording',
    'src/application/working-state',
  ],
  'src/application/history': [...CORE, 'src/application/recording'],
  'src/application/loss-report': [...CORE, 'src/application/recording'],
  'src/application/losses': [
    ...CORE,
    'src/application/recording',
    'src/application/loss-report',
    'src/application/working-state',
  ],
  'src/application/recall': [
    ...CORE,
    'src/application/recording',
    'src/application/loss-report',
    'src/application/losses',
    'src/application/working-state',
  ],
  'src/application/rules': [
    ...CORE,
    'src/application/recording',
    'src/application/loss-report',
    'src/application/working-state',
    'src/application/summarizers',
  ],
  'src/application/handoff': [...CORE, 'src/application/loss-report', 'src/application/recall'],
  'src/application/search': CORE,
  'src/application/editions': [
    ...CORE,
    'src/application/recording',
    'src/application/compaction',
    'src/application/history',
    'src/application/loss-report',
    'src/application/search',
  ],
  'src/application/proof': [...CORE, 'src/application/recording', 'src/application/history'],
  'src/application/audit': [
    ...CORE,
    'src/application/secrets',
    'src/application/sealing',
    'src/application/recording',
    'src/application/proof',
  ],
  'src/application/backup': CORE,
  'src/application/importers': [...CORE, 'src/application/secrets', 'src/application/recording'],
  'src/application/summarizers': CORE,
  'src/adapters': CORE,
  'src/application/model-apis': CORE,
  'projections/engine': CORE,
  'projections/read-models': [...CORE, 'projections/engine'],
  projections: [...CORE, 'projections/engine', 'projections/read-models'],
  'src/library': [
    ...CORE,
    ...CAPABILITIES,
    'src/application/sealing',
    'src/application/summarizers',
    'src/adapters',
    'src/schema',
    'src/application/model-apis',
    'projections',
    'projections/engine',
    'projections/read-models',
  ],
  'src/interfaces/sdk': [
    ...CORE,
    'src/application/secrets',
    'src/application/importers',
    'src/application/model-apis',
    'src/library',
  ],
  'src/interfaces/page': [
    ...CORE,
    'src/application/recording',
    'src/application/history',
    'src/application/loss-report',
    'src/application/losses',
    'src/application/rules',
    'projections/read-models',
    'src/library',
  ],
  'src/schema': [
    ...CORE,
    ...CAPABILITIES,
    'src/application/summarizers',
    'projections/engine',
    'projections/read-models',
  ],
  'src/interfaces/service': [...CORE, 'src/schema', 'src/library', 'src/interfaces/page'],
  'src/interfaces/client': [...CORE, 'src/schema', 'src/library'],
  'src/interfaces/acp': [...CORE, 'src/application/importers', 'src/library'],
  'src/interfaces/proxy': [...CORE, 'src/application/model-apis', 'src/library'],
  'src/interfaces/cli': [
    ...CORE,
    ...CAPABILITIES,
    'src/application/sealing',
    'src/application/summarizers',
    'projections/engine',
    'src/schema',
    'src/library',
    'src/interfaces/page',
    'src/interfaces/service',
    'src/interfaces/client',
    'src/interfaces/mcp',
    'src/interfaces/proxy',
    'src/interfaces/acp',
  ],
  'src/interfaces/mcp': [
    ...CORE,
    'src/application/history',
    'src/application/search',
    'src/schema',
    'src/library',
    'src/interfaces/page',
  ],
  src: [...CORE, 'src/library', 'src/application/recording', 'src/application/summarizers', 'src/adapters'],
}

/** What the pure domain may use besides itself. */
const DOMAIN_USES = new Set(['zod', 'fp-ts', 'canonicalize', 'stemmer', 'node:crypto'])

interface Import {
  readonly file: string
  readonly names: string
}

const files = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/u.test(file))
    .map((file) => join(folder, file))

const importsOf = (file: string): Import[] =>
  [
    ...readFileSync(file, 'utf8').matchAll(
      /^(?:import|export)\b[^'"]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gmu,
    ),
  ].map((match) => ({ file, names: match[1] ?? match[2] ?? match[3] ?? '' }))

const folderOf = (file: string): string => {
  const path = file.split(sep).join('/')
  return (
    Object.keys(LEFT_OF)
      .filter((folder) => path.startsWith(`${folder}/`))
      .toSorted((a, b) => b.length - a.length)[0] ?? 'nowhere'
  )
}

const packageOf = (name: string): string =>
  name.startsWith('node:')
    ? name
    : name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/')

const all = [...files('src'), ...files('projections')].flatMap(importsOf)
const ownImports = all.filter(({ names }) => names.startsWith('.'))

describe('the arrows', () => {
  it.each(Object.entries(LEFT_OF))('%s imports itself and %j', (folder, left) => {
    const wrong = ownImports
      .filter(({ file }) => folderOf(file) === folder)
      .map(({ file, names }) => ({ file, names, to: folderOf(normalize(join(dirname(file), names))) }))
      .filter(({ to }) => to !== folder && !left.includes(to))
      .map(({ file, names }) => `${file} imports ${names}`)
    expect(wrong).toEqual([])
  })

  it('read at least one import of every folder', () => {
    expect(Object.keys(LEFT_OF).filter((folder) => !all.some(({ file }) => folderOf(file) === folder))).toEqual([])
  })
})

describe('the domain', () => {
  it('uses nothing that it does not need', () => {
    const used = all.filter(({ file, names }) => folderOf(file) === 'src/domain' && !names.startsWith('.'))
    expect(
      used
        .filter(({ names }) => !DOMAIN_USES.has(packageOf(names)))
        .map(({ file, names }) => `${file} imports ${names}`),
    ).toEqual([])
  })

  it('has no clock, no chance and no promise', () => {
    const used = ownImports
      .filter(({ file }) => folderOf(file) === 'src/domain')
      .map(({ file, names }) => normalize(join(dirname(file), names)).replace(/\.js$/u, '.ts'))
      .filter((file) => folderOf(file) === 'src/lib')
    const impure = [...files(join('src', 'domain')), ...new Set(used)].flatMap((file) => {
      const code = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gmu, '')
      return [
        /\bDate\.now\b/u,
        /\bnew Date\(\)/u,
        /\bMath\.random\b/u,
        /\brandomUUID\b/u,
        /\bawait\b/u,
        /\bPromise\b/u,
        /\bprocess\./u,
      ]
        .filter((pattern) => pattern.test(code))
        .map((pattern) => `${file}: ${pattern.source}`)
    })
    expect(impure).toEqual([])
  })
})

it('only compose.ts knows every adapter', () => {
  const knows = ownImports.filter(
    ({ file, names }) =>
      folderOf(normalize(join(dirname(file), names))) === 'src/adapters' && folderOf(file) !== 'src/adapters',
  )
  expect(
    knows.filter(({ file }) => !file.endsWith('compose.ts')).map(({ file, names }) => `${file} imports ${names}`),
  ).toEqual([])
})

/** Fields of an object in one class: a class with more has two halves, which a reader finds plain if they are apart. */
const MOST_FIELDS = 10

/** All nodes of a syntax tree. */
function* nodesIn(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (isRecord(value) && typeof value['type'] === 'string') yield value
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) yield* nodesIn(child)
}

/** The fields of objects of a class. A parameter of the constructor with an access modifier is one. */
const fieldsOf = (members: readonly unknown[]): readonly unknown[] =>
  members.filter(isRecord).flatMap((member) => {
    if (member['kind'] === 'constructor' && isRecord(member['value']))
      return listOf(member['value']['params']).filter(
        (each) => isRecord(each) && each['type'] === 'TSParameterProperty',
      )
    const isField = member['type'] === 'PropertyDefinition' || member['type'] === 'AccessorProperty'
    return isField && member['static'] !== true ? [member] : []
  })

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The number of fields of each class of a text that has too many. */
const largeClasses = (text: string): readonly number[] =>
  [...nodesIn(parseSync('class.ts', text).program)]
    .filter(({ type }) => type === 'ClassBody')
    .map(({ body }) => fieldsOf(listOf(body)).length)
    .filter((count) => count > MOST_FIELDS)

describe('classes', () => {
  it('have at most ten fields', () => {
    const large = [...files('src'), ...files('projections')].flatMap((file) => {
      const text = readFileSync(file, 'utf8')
      const counts = /\bclass\b/u.test(text) ? largeClasses(text) : []
      return counts.map((count) => `${file}: ${String(count)} fields`)
    })
    expect(large).toEqual([])
  })

  it('count private fields and parameters with an access modifier, and no static ones', () => {
    const fields = ['a = 1', 'readonly b: () => void', '#c', 'private d = 4', 'e', 'f', 'g', 'h', 'i'].join('\n')
    const parameters = (names: string): string => `class Large { static z = 0\n${fields}\nconstructor(${names}) {} }`
    expect(largeClasses(parameters('private readonly j: string, k: string'))).toEqual([])
    expect(largeClasses(parameters('private readonly j: string, public k = 1'))).toEqual([11])
  })
})

describe('the walks of ARCHITECTURE.md', () => {
  const [, text = ''] = /\n## Six walks\n([^]*?)\n## /u.exec(readFileSync('ARCHITECTURE.md', 'utf8')) ?? []
  const walks = text
    .split('\n### ')
    .slice(1)
    .map((section) => ({
      title: section.slice(0, section.indexOf('\n')),
      steps: [...section.matchAll(/^\d+\. `([^`]+\.ts)` `(\w+)`/gmu)].map(([, file = '', name = '']) => ({
        file,
        name,
      })),
    }))

  it('are six, and each has its steps', () => {
    expect(walks.map(({ steps }) => steps.length >= 5)).toEqual([true, true, true, true, true, true])
  })

  it.each(walks)('$title: each step is there, and one before it leads to it', ({ steps }) => {
    const lost = steps.flatMap(({ file, name }, at) => {
      const code = readFileSync(file, 'utf8')
      const isThere = new RegExp(
        `\\b(?:function\\*?|const|class|interface|async)\\s+${name}\\b|^\\s+(?:readonly )?${name}[(:]`,
        'mu',
      ).test(code)
      const before = steps.slice(0, at).map((step) => readFileSync(step.file, 'utf8'))
      const isReached =
        at < 1 || before.some((other) => new RegExp(`\\b${name}\\b|/${basename(file, '.ts')}\\.js'`, 'u').test(other))
      return [
        ...(isThere ? [] : [`${file} has no ${name}`]),
        ...(isReached ? [] : [`no step before it names ${name} of ${file}`]),
      ]
    })
    expect(lost).toEqual([])
  })
})
