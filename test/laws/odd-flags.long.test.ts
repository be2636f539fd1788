/**
 * Passes unusual values to every flag and argument of every command, in process, with the program's own parser. The
 * flags come from the commands' lists, so a new flag is tested automatically. The command must either work, or reject
 * the value with a message that names the flag or the value, and with a status listed in docs/reference/cli.md. It must never end
 * with an internal error, a stack trace, or an error with status 0. Existing conversations must stay intact.
 *
 * By default each command's own flags get one value, and each policy flag is tested with one of its commands.
 * CONTEXT_LEDGER_TEST_ODD sets the total number of values, and then every command's settings are tested too. The server
 * in CONTEXT_LEDGER_TEST_POSTGRES opens faster than a directory.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { CliCommand as Command } from '../../src/interfaces/cli/command.js'
import { flagsOfCommand } from '../../src/interfaces/cli/command.js'
import { commands, groups } from '../../src/interfaces/cli/commands/index.js'
import { CommandExit as Ended, EXIT, describeError as tell } from '../../src/interfaces/cli/errors.js'
import { settings } from '../../src/interfaces/cli/flags.js'
import { parsed, runCommand } from '../../src/interfaces/cli/parser.js'
import { policyFlags } from '../../src/interfaces/cli/policy-flags.js'
import { openLedger } from '../../src/index.js'
import { spawnCli } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { repeated } from '../support/length.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

const REQUESTED = Number(process.env['CONTEXT_LEDGER_TEST_ODD'] ?? 0)

/** The text of an object that is printed by mistake. */
const OBJECT = '[object Object]'

const values: readonly string[] = [
  '',
  ' ',
  'NaN',
  '-1',
  '0',
  '1.5',
  '1e309',
  String(2 ** 70),
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

/** A flag or argument of a command. */
interface Entry {
  readonly name: string
  readonly command: Command
  /** Names that an error message may use for it. */
  readonly names: readonly string[]
  readonly words: (value: string) => readonly string[]
  /** The command line without this flag or argument. */
  readonly without: () => readonly string[]
  /** True if it belongs to this command; false for a setting that every command has. */
  readonly isOwn: boolean
  /** True for a policy flag that is tested with another command by default. */
  readonly isTestedByOther: boolean
}

/** Values of the arguments that are not tested. `edition` is added after the edition was created. */
const sampleArguments: Record<string, string> = {
  conversation: 'good',
  message: 'last',
  query: 'harbour',
  files: 'chat.jsonl',
  what: 'show',
}
/** Further words that a command needs before it reads the tested flag. */
const requiredWords: Record<string, readonly string[]> = {
  append: ['--text', 'still here'],
  replay: ['--all', '--yes'],
  diff: ['--from', '1'],
  'editions adopt': ['--all', '--yes'],
  'editions revert': ['--all'],
  'editions drop': ['--all'],
  undo: ['--cycle', '1'],
  handoff: ['--to', 'pi', '--home', 'a-folder'],
  'keys create': ['--name', 'agents', '--role', 'read'],
  proxy: ['--upstream', 'http://127.0.0.1:1'],
  serve: ['--upstream', 'http://127.0.0.1:1'],
  erase: ['--conversation', 'good', '--reason', 'asked'],
  evidence: ['--html', 'evidence.html'],
  'checkpoint publish': ['--to', 'checkpoint.txt'],
  'retention set': ['--keep-at-least', '1 day', '--reason', 'law'],
  'retention hold': ['--reason', 'case'],
  'retention release': ['--reason', 'case'],
}
/** Optional arguments without which the command does nothing. */
const SAMPLE_ARGUMENTS: Readonly<Record<string, readonly string[]>> = { search: ['harbour'], import: ['chat.jsonl'] }

const ofPolicy = policyFlags().map(({ flag }) => flag)
const nameOf = (command: Command): string => command.words.split(' ')[0] ?? ''
const all: readonly (readonly [readonly string[], Command])[] = [
  ...commands.map((command): [string[], Command] => [[nameOf(command)], command]),
  ...groups.flatMap((group) =>
    group.commands.map((command): [string[], Command] => [[group.word, nameOf(command)], command]),
  ),
]

const writers = all.flatMap(([, command]) => (command.policy === true ? [command] : []))

async function entriesOf(path: readonly string[], command: Command): Promise<readonly Entry[]> {
  const required = [...command.words.matchAll(/<(\w+)>/gu)].map(([, name]) => name ?? '')
  const commandName = path.join(' ')
  const requiredArguments = (): readonly string[] => required.map((name) => sampleArguments[name] ?? name)
  const furtherWords = (flag?: string): readonly string[] => {
    const words = requiredWords[commandName] ?? []
    const at = flag === undefined ? -1 : words.indexOf(`--${flag}`)
    return at < 0 ? words : words.toSpliced(at, 2)
  }
  const ownFlags = [
    ...Object.entries(await flagsOfCommand(command)).flatMap(([flag, option]) =>
      option.type === 'boolean' ? [] : [flag],
    ),
    ...(command.policy === true ? ['policy', ...ofPolicy] : []),
  ]
  const commandLine = (flag: string | undefined): readonly string[] => [
    ...path,
    ...requiredArguments(),
    ...(SAMPLE_ARGUMENTS[commandName] ?? []),
    ...furtherWords(flag),
  ]
  return [
    ...Object.keys(command.positionals ?? {}).map((name): Entry => {
      const at = required.indexOf(name)
      return {
        name: `${commandName} <${name}>`,
        command,
        isOwn: true,
        isTestedByOther: false,
        names: [
          name,
          name.replace(/s$/u, ''),
          ...furtherWords()
            .filter((word) => word.startsWith('--'))
            .map((word) => word.slice(2)),
        ],
        // After `--` an argument may begin with a dash.
        words: (value) => [
          ...path,
          ...furtherWords(),
          '--',
          ...(at < 0 ? [...requiredArguments(), value] : requiredArguments().with(at, value)),
        ],
        without: () => commandLine(undefined),
      }
    }),
    ...[...ownFlags, ...settings.map(({ flag }) => flag), 'config'].map((flag): Entry => {
      const forms = [
        (value: string) => [`--${flag}=${value}`],
        (value: string) => [`--${flag}`, value],
        (value: string) => [`--${flag}=1`, `--${flag}=${value}`],
      ]
      return {
        name: `${commandName} --${flag}`,
        command,
        isOwn: ownFlags.includes(flag),
        isTestedByOther: ofPolicy.includes(flag) && writers[ofPolicy.indexOf(flag) % writers.length] !== command,
        names: [
          `--${flag}`,
          flag,
          flag.replaceAll('-', ' '),
          flag.replaceAll('-', '_'),
          flag.replaceAll(/-(\w)/gu, (_all, letter: string) => letter.toUpperCase()),
        ],
        // After an equals sign, as a separate word, or as the second of two values.
        words: (value) => [...commandLine(flag), ...(forms[value.length % forms.length]?.(value) ?? [])],
        without: () => commandLine(undefined),
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

/** Runs the program with these words; returns its status and output. */
async function run(words: readonly string[], isEndless = false): Promise<Outcome> {
  let printed = ''
  const { stdout, stderr } = process
  const capture = (text: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    printed += String(text)
    const callback = rest.at(-1)
    if (typeof callback === 'function') callback()
    return true
  }
  stdout.write = capture
  stderr.write = capture
  try {
    const found = await parsed(words)
    if (found !== undefined && !isEndless) await runCommand(found.command, found.flags)
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

/** Why an outcome is wrong; undefined if it is acceptable. */
function faultOf(entry: Entry, value: string, { status, printed, message, stack }: Outcome): string | undefined {
  const output = `${printed}${message}`
  if (status === EXIT.bug) return `internal error: ${message.slice(0, 300)}\n${stack.slice(0, 900)}`
  if (value !== OBJECT && output.includes(OBJECT)) return 'prints [object Object]'
  if (/\n\s+at .+:\d+:\d+/u.test(output)) return `prints a stack: ${output.slice(0, 300)}`
  if (
    /syntax error at or near|invalid byte sequence|invalid input syntax|out of range for type|violates \w+ constraint/u.test(
      output,
    )
  )
    return `prints an error of the database: ${output.slice(0, 300)}`
  if (status === EXIT.ok)
    return /^error:/mu.test(printed) ? `prints an error with status 0: ${printed.slice(0, 300)}` : undefined
  if (message.trim() === '') return `ends with ${String(status)} and without a message`
  const words = [
    ...entry.names,
    // A message about `-` may name what it means.
    ...(value === '-' ? ['standard input'] : []),
    ...(value.trim() === '' ? [`"${value}"`] : [value.toWellFormed().slice(0, 20), JSON.stringify(value).slice(1, 20)]),
  ]
  return words.some((word) => message.toWellFormed().toLowerCase().includes(word.toLowerCase()))
    ? undefined
    : `does not name the flag or the value (status ${String(status)}): ${message.slice(0, 300)}`
}

let home: string
let store: string
let drop: () => Promise<void> = () => Promise.resolve()
const initialDirectory = process.cwd()
const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')

/** Creates the files that some values name in the current directory. */
async function createSampleFiles(): Promise<void> {
  await mkdir('a-folder')
  await writeFile('a-file', 'not JSON')
  await writeFile('chat.jsonl', '{"role":"user","content":"the harbour opens"}\n')
}

/** Changes to a new directory that contains only the sample files. */
async function enterNewDirectory(): Promise<void> {
  process.chdir(await mkdtemp(join(home, 'own-')))
  await createSampleFiles()
}

beforeAll(async () => {
  for (const name of Object.keys(process.env)) if (/^(?:CONTEXT_LEDGER|OPENAI)_/u.test(name)) delete process.env[name]
  // If a value is used as the name of a model, no server answers at this address.
  Object.assign(process.env, {
    PAGER: 'cat',
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    OPENAI_API_KEY: 'none',
    // The pepper for hashing keys, if the store is a server.
    CONTEXT_LEDGER_PEPPER: 'a pepper of tests, which is long enough for it',
  })
  // Standard input is empty. Files that a command creates from a value are created in the test's directory.
  Object.defineProperty(process, 'stdin', { configurable: true, get: () => Readable.from([]) })
  home = await mkdtemp(join(tmpdir(), 'ledger-odd-'))
  process.chdir(home)
  await createSampleFiles()
  store = join(home, 'ledger')
  if (testServer !== '') ({ address: store, drop } = await createTestDatabase())
  const ledger = await openLedger({ store, policy: SMALL })
  await ledger.append('good', [{ id: 'good-1', role: 'user', content: 'the harbour is closed' }, ...talk(24)])
  await ledger.append('other', { role: 'user', content: 'the harbour is far' })
  await ledger.append('good', { id: 'last', role: 'user', content: 'and the harbour opens' })
  sampleArguments['edition'] = (await ledger.editions.replay({ conversations: ['good'] })).editionId
  const hold = await ledger.admin.retention.hold({ conversationId: 'other' }, { reason: 'case' })
  sampleArguments['hold'] = hold.holdId
  await ledger.close()
  requiredWords['migrate-log'] = ['--from', store, '--to', 'out.clog.gz', '--overwrite']
}, 60_000)

afterAll(async () => {
  process.chdir(initialDirectory)
  if (stdin !== undefined) Object.defineProperty(process, 'stdin', stdin)
  await drop()
  await rm(home, { recursive: true, force: true })
})

/** CI tests a flag that several commands have with one of them, `npm run test:all` with all. */
function sampleOf(entries: readonly Entry[]): readonly Entry[] {
  const timesOf = new Map<string, number>()
  return entries.filter(({ name }) => {
    const flag = name.split(' ').at(-1) ?? name
    const times = (timesOf.get(flag) ?? 0) + 1
    timesOf.set(flag, times)
    return times <= repeated(Infinity, 1)
  })
}

const SERVICES = new Set(['projections run', 'compaction run', 'page', 'serve', 'mcp', 'proxy'])
const isService = (entry: Entry): boolean => [...SERVICES].some((name) => entry.name.startsWith(name))

it('every flag and argument accepts an unusual value or rejects it with a message, and conversations stay intact', async () => {
  const entries = (await Promise.all(all.map(([path, command]) => entriesOf(path, command)))).flat()
  const pairs = (of: readonly Entry[], times: number): readonly (readonly [Entry, string])[] =>
    Array.from({ length: times }, (_none, round) =>
      of.map((entry, at) => [entry, values[(at * 7 + round) % values.length] ?? ''] as const),
    ).flat()
  const tries =
    REQUESTED === 0
      ? pairs(sampleOf(entries.filter(({ isOwn, isTestedByOther }) => isOwn && !isTestedByOther)), 1)
      : pairs(entries, Math.min(values.length, Math.ceil(REQUESTED / entries.length)))
  const faults: string[] = []
  // Commands that only read run while this process has the directory open. Commands that write open it themselves.
  for (const reads of [true, false]) {
    const holder = reads ? await openLedger({ store }) : undefined
    // The value "[object Object]" comes last, since no other command may print it.
    const ordered = tries
      .filter(([{ command }]) => (command.reads === true) === reads)
      .toSorted(([, a], [, b]) => Number(a === OBJECT) - Number(b === OBJECT))
    for (const [entry, value] of ordered) {
      const isGrouped = groups.some(({ word }) => entry.name.startsWith(`${word} `))
      const commandWords = entry.name.split(' ', isGrouped ? 2 : 1).length
      const isStore = entry.name.endsWith('--store')
      const isCopy = entry.name.startsWith('migrate-log')
      const withStore = (line: readonly string[]): readonly string[] =>
        isCopy ? line : line.toSpliced(commandWords, 0, '--store', store)
      const words = isStore ? entry.words(value) : withStore(entry.words(value))
      // A ledger that an earlier command created under an unusual name must not matter.
      if (isStore) await enterNewDirectory()
      const outcome = await run(words, isService(entry))
      const fault = faultOf(entry, value, outcome)
      // A message about the state of the ledger is the same without the value, or with an ordinary one, so it need not name the value.
      const isAboutState =
        fault !== undefined &&
        (outcome.status === EXIT.input || outcome.status === EXIT.world) &&
        (await run(withStore(entry.without()), isService(entry))).message === outcome.message
      if (isStore) process.chdir(home)
      if (fault === undefined || isAboutState) continue
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
