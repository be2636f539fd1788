/**
 * Asks the resident reader of a directory to run a command. `main.ts` does this before it loads anything else, because
 * loading the program takes longer than the answer. The resident reader checks the request; what it does not run, this
 * process runs.
 */
import { readFile, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { framesOf, sendFrame } from '../../lib/frames.js'
import { highestLock, isFree, isSocketOf, LOCK_NAME } from '../../lib/lock-record.js'
import { buildId } from '../../lib/package-root.js'
import type { CommandOutput, CommandRequest, StreamFeatures } from './command-request.js'
import { CONFIG_FILE, DEFAULT_STORE } from './flags.js'

/** How long a resident reader may take to accept a command. */
const ACCEPT_MS = 500
/** How long it may take to run one. */
const RUN_MS = 5_000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** The value of a flag; undefined if it is not there. */
function flagOf(words: readonly string[], name: string): string | undefined {
  const end = words.indexOf('--')
  const flags = end < 0 ? words : words.slice(0, end)
  const at = flags.findLastIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`))
  const word = flags[at]
  return word === undefined ? undefined : word === `--${name}` ? flags[at + 1] : word.slice(name.length + 3)
}

/** The store in the config file, relative to that file; undefined if it has none. */
async function storeInFile(words: readonly string[]): Promise<string | undefined> {
  const file = resolve(flagOf(words, 'config') ?? CONFIG_FILE)
  const text = await readFile(file, 'utf8').catch(() => undefined)
  const found: unknown = text === undefined ? undefined : JSON.parse(text)
  return isObject(found) && typeof found['store'] === 'string' ? resolve(dirname(file), found['store']) : undefined
}

/** The directory of the ledger, if the command line names one. The resident reader checks that it is its own. */
async function directoryOf(words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const named = flagOf(words, 'store') ?? env['CONTEXT_LEDGER_STORE']
  return resolve(named === undefined || named === '' ? ((await storeInFile(words)) ?? DEFAULT_STORE) : named)
}

/** The socket of the resident reader that has the directory open, if it has the same build as this program. */
async function residentSocket(directory: string): Promise<string | undefined> {
  const locks = join(directory, LOCK_NAME)
  const number = await highestLock(locks)
  if (number === 0 || (await isFree(locks, number))) return undefined
  const file = join(locks, String(number))
  const [text, { uid }] = await Promise.all([readFile(file, 'utf8'), stat(file)])
  const record: unknown = JSON.parse(text)
  if (!isObject(record) || record['resident'] !== buildId()) return undefined
  const address = record['socket']
  return typeof address === 'string' && (await isSocketOf(address, uid)) ? address : undefined
}

/** Ends the connection if the other end takes longer than `ms`. Returns a function that ends the watch. */
function endAfter(socket: Socket, ms: number): () => void {
  const timer = setTimeout(() => {
    socket.destroy()
  }, ms)
  return () => {
    clearTimeout(timer)
  }
}

/** Sends a request to the process at a socket. Undefined if it does not run it, or not in time. */
async function ask(address: string, command: unknown): Promise<unknown> {
  const socket = connect(address)
  // An error ends the messages.
  socket.on('error', () => undefined)
  const messages = framesOf(socket)
  let forget = endAfter(socket, ACCEPT_MS)
  try {
    await messages.next()
    await sendFrame(socket, { kind: 'run', command })
    const { value: accepted } = await messages.next()
    if (!isObject(accepted) || accepted['isAccepted'] !== true) return undefined
    forget()
    forget = endAfter(socket, RUN_MS)
    const { value: answer } = await messages.next()
    return isObject(answer) ? answer['output'] : undefined
  } finally {
    forget()
    socket.destroy()
  }
}

/** Sends a request of a hook to the resident reader of a directory. Undefined if there is none, or it cannot answer. */
export async function askResidentOf(directory: string, request: unknown): Promise<unknown> {
  try {
    const address = await residentSocket(directory)
    return address === undefined ? undefined : await ask(address, request)
  } catch {
    // It has just ended.
    return undefined
  }
}

/** Words that a resident reader cannot use: the standard input, and other files of this process. */
const OF_THIS_PROCESS = /(?:^|[=@])(?:-$|\/dev\/|\/proc\/)/u

const featuresOf = ({ isTTY, columns }: NodeJS.WriteStream): StreamFeatures => ({ isTTY, columns })

/** The output of the command; undefined if this process has to run it. */
export async function askResident(words: readonly string[]): Promise<CommandOutput | undefined> {
  const { env } = process
  const setting = flagOf(words, 'resident') ?? env['CONTEXT_LEDGER_RESIDENT'] ?? ''
  const [first = '-'] = words
  if (setting === 'off' || first.startsWith('-') || words.some((word) => OF_THIS_PROCESS.test(word))) return undefined
  try {
    const address = await residentSocket(await directoryOf(words, env))
    if (address === undefined) return undefined
    const request: CommandRequest = {
      words,
      cwd: process.cwd(),
      env: { ...env },
      node: process.version,
      stdout: featuresOf(process.stdout),
      stderr: featuresOf(process.stderr),
    }
    // Both ends have the same build.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (await ask(address, request)) as CommandOutput | undefined
  } catch {
    // There is no resident reader, or it has just ended.
    return undefined
  }
}
