/**
 * Odd values through every flag and every argument of every command, in process, by the parser that the program has.
 * They are read off the commands' own lists, so that a flag that is added is tried too. Each is refused with its flag
 * or its value named, by a status that docs/cli.md has; or the command does what it says. Never a bug of ours, a stack
 * trace, or an error with status 0; and the conversations that were there are whole afterwards. By default each
 * command's own flags get one value each, and each flag of the policy one by one of the commands that have it.
 * CONTEXT_LEDGER_TEST_ODD says how many values are tried in all, and then every command's settings are tried too; a
 * server that CONTEXT_LEDGER_TEST_POSTGRES names opens faster than a folder.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Command } from '../../src/cli/command.js'
import { commands, groups } from '../../src/cli/commands/index.js'
import { Ended, EXIT, tell } from '../../src/cli/errors.js'
import { settings } from '../../src/cli/flags.js'
import { parserOf } from '../../src/cli/parser.js'
import { policyFlags } from '../../src/cli/policy-flags.js'
import { openLedger } from '../../src/index.js'
import { spawnCli } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

const WANTED = Number(process.env['CONTEXT_LEDGER_TEST_ODD'] ?? 0)

/** What an object is printed as by mistake. */
const OBJECT = '[object Object]'

const values: readonly string[] = [
  '',
  ' ',
  'NaN',
  '-1',
  '0',
  '1.5',
  '1e309',
  String(2n ** 70n),
  'x'.repeat(4_000),
  'a\0b',
  'lone \ud800',
  '\udc00 lone',
  '__proto__',
  'constructor',
  '-',
  '--',
  '{"role":"user"}',
  '[]',
  'null',
  'a-folder',
  'a-file',
  'no-such-file',
  'a-folder/no/such/file',
  '\u001b[31mred',
  '2026-13-45T99:99:99Z',
  `'; drop table events; --`,
  'memory',
  'undefined',
  OBJECT,
  '🛶',
]

/** One place of one command where a value may stand. */
interface Entry {
  readonly name: string
  readonly command: Command
  /** What the message of a refusal may call it. */
  readonly called: readonly string[]
  readonly words: (value: string) => readonly string[]
  /** The same without it. */
  readonly without: () => readonly string[]
  /** Of this command, and no setting that every command has. */
  readonly isOwn: boolean
  /** A flag of the policy that another command tries by default. */
  readonly isElsewhere: boolean
}

/** What stands in the place of an argument that is not the one in question. The edition is made before. */
const said: Record<string, string> = {
  conversation: 'good',
  message: 'last',
  query: 'harbour',
  files: 'chat.jsonl',
  what: 'show',
}
/** What a command needs besides, to come to the flag in question at all. */
const needs: Record<string, readonly string[]> = {
  append: ['--text', 'still here'],
  replay: ['--all', '--yes'],
  diff: ['--from', '1'],
  'editions adopt': ['--all', '--yes'],
  'editions revert': ['--all'],
  'editions drop': ['--all'],
  undo: ['--cycle', '1'],
  'keys create': ['--name', 'agents', '--role', 'read'],
  proxy: ['--upstream', 'http://127.0.0.1:1'],
  serve: ['--upstream', 'http://127.0.0.1:1'],
}
/** Optional arguments without which the command has nothing to do. */
const BARE: Readonly<Record<string, readonly string[]>> = { search: ['harbour'], import: ['chat.jsonl'] }

const ofPolicy = policyFlags().map(({ flag }) => flag)
const nameOf = (command: Command): string => command.words.split(' ')[0] ?? ''
const all: readonly (readonly [readonly string[], Command])[] = [
  ...commands.map((command): [string[], Command] => [[nameOf(command)], command]),
  ...groups.flatMap((group) =>
    group.commands.map((command): [string[], Command] => [[group.word, nameOf(command)], command]),
  ),
]

const writers = all.flatMap(([, command]) => (command.policy === true ? [command] : []))

function entriesOf(path: readonly string[], command: Command): readonly Entry[] {
  const demanded = [...command.words.matchAll(/<(\w+)>/gu)].map(([, name]) => name ?? '')
  const named = path.join(' ')
  const before = (): readonly string[] => demanded.map((name) => said[name] ?? name)
  const besides = (flag?: string): readonly string[] => {
    const some = needs[named] ?? []
    const at = flag === undefined ? -1 : some.indexOf(`--${flag}`)
    return at < 0 ? some : some.toSpliced(at, 2)
  }
  const own = [
    ...Object.entries(command.options ?? {}).flatMap(([flag, option]) => (option.type === 'boolean' ? [] : [flag])),
    ...(command.policy === true ? ['policy', ...ofPolicy] : []),
  ]
  const bare = (flag: string | undefined): readonly string[] => [
    ...path,
    ...before(),
    ...(BARE[named] ?? []),
    ...besides(flag),
  ]
  return [
    ...Object.keys(command.positionals ?? {}).map((name): Entry => {
      const at = demanded.indexOf(name)
      return {
        name: `${named} <${name}>`,
        command,
        isOwn: true,
        isElsewhere: false,
        called: [
          name,
          name.replace(/s$/u, ''),
          ...besides()
            .filter((word) => word.startsWith('--'))
            .map((word) => word.slice(2)),
        ],
        // Behind `--`, where a word may begin with a dash.
        words: (value) => [...path, ...besides(), '--', ...(at < 0 ? [...before(), value] : before().with(at, value))],
        without: () => bare(undefined),
      }
    }),
    ...[...own, ...settings.map(({ flag }) => flag), 'config'].map((flag): Entry => {
      const forms = [
        (value: string) => [`--${flag}=${value}`],
        (value: string) => [`--${flag}`, value],
        (value: string) => [`--${flag}=1`, `--${flag}=${value}`],
      ]
      return {
        name: `${named} --${flag}`,
        command,
        isOwn: own.includes(flag),
        isElsewhere: ofPolicy.includes(flag) && writers[ofPolicy.indexOf(flag) % writers.length] !== command,
        called: [
          `--${flag}`,
          flag,
          flag.replaceAll('-', ' '),
          flag.replaceAll('-', '_'),
          flag.replaceAll(/-(\w)/gu, (_all, letter: string) => letter.toUpperCase()),
        ],
        // Behind an equals sign, as a word of its own, or as the second one that is given.
        words: (value) => [...bare(flag), ...(forms[value.length % forms.length]?.(value) ?? [])],
        without: () => bare(flag),
      }
    }),
  ]
}

interface Outcome {
  readonly status: number
  readonly printed: string
  readonly message: string
  readonly stack: string
}

const write = { stdout: process.stdout.write.bind(process.stdout), stderr: process.stderr.write.bind(process.stderr) }

/** What the program does with these words, as far as its status and its sentences. */
async function run(words: readonly string[], isForEver = false): Promise<Outcome> {
  let printed = ''
  const { stdout, stderr } = process
  const take = (text: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    printed += String(text)
    const done = rest.at(-1)
    if (typeof done === 'function') done()
    return true
  }
  stdout.write = take
  stderr.write = take
  try {
    await (await (isForEver ? parserOf(words, () => Promise.resolve()) : parserOf(words))).parseAsync()
    return { status: EXIT.ok, printed, message: '', stack: '' }
  } catch (error) {
    if (error instanceof Ended) return { status: error.exitCode, printed, message: printed, stack: '' }
    const { exitCode, message } = await tell(error)
    return { status: exitCode, printed, message, stack: error instanceof Error ? (error.stack ?? '') : '' }
  } finally {
    stdout.write = write.stdout
    stderr.write = write.stderr
  }
}

/** What is wrong with an outcome, if anything is. */
function wrong(entry: Entry, value: string, { status, printed, message, stack }: Outcome): string | undefined {
  const told = `${printed}${message}`
  if (status === EXIT.bug) return `a bug: ${message.slice(0, 300)}\n${stack.slice(0, 900)}`
  if (value !== OBJECT && told.includes(OBJECT)) return 'says [object Object]'
  if (/\n\s+at .+:\d+:\d+/u.test(told)) return `shows a stack: ${told.slice(0, 300)}`
  if (
    /syntax error at or near|invalid byte sequence|invalid input syntax|out of range for type|violates \w+ constraint/u.test(
      told,
    )
  )
    return `shows the database's own words: ${told.slice(0, 300)}`
  if (status === EXIT.ok)
    return /^error:/mu.test(printed) ? `ends well with an error: ${printed.slice(0, 300)}` : undefined
  if (message.trim() === '') return `ends with ${String(status)} and says nothing`
  const words = [
    ...entry.called,
    // What `-` means is called by that name.
    ...(value === '-' ? ['standard input'] : []),
    ...(value.trim() === '' ? [`"${value}"`] : [value.toWellFormed().slice(0, 20), JSON.stringify(value).slice(1, 20)]),
  ]
  return words.some((word) => message.toWellFormed().toLowerCase().includes(word.toLowerCase()))
    ? undefined
    : `does not name it (status ${String(status)}): ${message.slice(0, 300)}`
}

let home: string
let store: string
let drop: () => Promise<void> = () => Promise.resolve()
const stood = process.cwd()
const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')

/** Puts what odd values name into the folder that the commands are called in. */
async function furnish(): Promise<void> {
  await mkdir('a-folder')
  await writeFile('a-file', 'what is no JSON')
  await writeFile('chat.jsonl', '{"role":"user","content":"the harbour opens"}\n')
}

/** Goes into a new folder, in which nobody has made anything. */
async function inFolderOfItsOwn(): Promise<void> {
  process.chdir(await mkdtemp(join(home, 'own-')))
  await furnish()
}

beforeAll(async () => {
  for (const name of Object.keys(process.env)) if (/^(?:CONTEXT_LEDGER|OPENAI)_/u.test(name)) delete process.env[name]
  // Where an odd value is the name of a model, nobody answers.
  Object.assign(process.env, {
    PAGER: 'cat',
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    OPENAI_API_KEY: 'none',
    // What keys are hashed under, where the store is a server.
    CONTEXT_LEDGER_PEPPER: 'a pepper of tests, which is long enough for it',
  })
  // Nobody types anything; and what is made of an odd value as a path is made in a folder of its own.
  Object.defineProperty(process, 'stdin', { configurable: true, get: () => Readable.from([]) })
  home = await mkdtemp(join(tmpdir(), 'ledger-odd-'))
  process.chdir(home)
  await furnish()
  store = join(home, 'ledger')
  if (testServer !== '') ({ address: store, drop } = await createTestDatabase())
  const ledger = await openLedger({ store, policy: SMALL })
  await ledger.append('good', [{ id: 'good-1', role: 'user', content: 'the harbour is closed' }, ...talk(24)])
  await ledger.append('other', { role: 'user', content: 'the harbour is far' })
  await ledger.append('good', { id: 'last', role: 'user', content: 'and the harbour opens' })
  said['edition'] = (await ledger.editions.replay({ conversations: ['good'] })).editionId
  await ledger.close()
  needs['migrate-log'] = ['--from', store, '--to', 'out.clog.gz', '--overwrite']
}, 60_000)

afterAll(async () => {
  process.chdir(stood)
  if (stdin !== undefined) Object.defineProperty(process, 'stdin', stdin)
  await drop()
  await rm(home, { recursive: true, force: true })
})

const FOR_EVER = new Set(['projections run', 'compaction run', 'page', 'serve', 'mcp', 'proxy'])
const isForEver = (entry: Entry): boolean => [...FOR_EVER].some((name) => entry.name.startsWith(name))

it('every flag and argument takes an odd value or refuses it in words, and the conversations are whole', async () => {
  const entries = all.flatMap(([path, command]) => entriesOf(path, command))
  const pairs = (of: readonly Entry[], times: number): readonly (readonly [Entry, string])[] =>
    Array.from({ length: times }, (_none, round) =>
      of.map((entry, at) => [entry, values[(at * 7 + round) % values.length] ?? ''] as const),
    ).flat()
  const tries =
    WANTED === 0
      ? pairs(
          entries.filter(({ isOwn, isElsewhere }) => isOwn && !isElsewhere),
          1,
        )
      : pairs(entries, Math.min(values.length, Math.ceil(WANTED / entries.length)))
  const faults: string[] = []
  // Whoever only reads goes beside this process, which has the folder open. Whoever writes opens it for himself.
  for (const reads of [true, false]) {
    const holder = reads ? await openLedger({ store }) : undefined
    // What is called "[object Object]" is tried last: until then nobody may say so.
    const inTurn = tries
      .filter(([{ command }]) => (command.reads === true) === reads)
      .toSorted(([, a], [, b]) => Number(a === OBJECT) - Number(b === OBJECT))
    for (const [entry, value] of inTurn) {
      const named = entry.name.split(' ', groups.some(({ word }) => entry.name.startsWith(`${word} `)) ? 2 : 1).length
      const isStore = entry.name.endsWith('--store')
      const isCopy = entry.name.startsWith('migrate-log')
      const withStore = (some: readonly string[]): readonly string[] =>
        isCopy ? some : some.toSpliced(named, 0, '--store', store)
      const words = isStore ? entry.words(value) : withStore(entry.words(value))
      // A ledger of an odd name that an earlier command made is not what is asked about here.
      if (isStore) await inFolderOfItsOwn()
      const outcome = await run(words, isForEver(entry))
      const fault = wrong(entry, value, outcome)
      // What the command says of how things stand, and not of the value, it says now without the value too.
      const isOfState =
        fault !== undefined &&
        (outcome.status === EXIT.input || outcome.status === EXIT.world) &&
        (await run(withStore(entry.without()), isForEver(entry))).message === outcome.message
      if (isStore) process.chdir(home)
      if (fault === undefined || isOfState) continue
      faults.push(
        `${entry.name} ${JSON.stringify(value).slice(0, 40)} (${JSON.stringify(words).slice(0, 200)}): ${fault}`,
      )
    }
    await holder?.close()
  }
  expect(faults).toEqual([])
  expect(tries.length).toBeGreaterThan(commands.length)
  const ledger = await openLedger({ store })
  expect((await ledger.list()).conversations.map(({ conversationId }) => conversationId)).toEqual(
    expect.arrayContaining(['good', 'other']),
  )
  expect((await ledger.search('harbour', { conversationId: 'other' })).hits).not.toEqual([])
  await ledger.close()
  expect(await spawnCli(['verify', '--store', store], { cwd: home })).toMatchObject({ status: EXIT.ok })
}, 3_600_000)
