/**
 * `import`: messages from files or standard input, one at a time and settled after each, as if the conversation happened now; so that a
 * file always gives the same log. What is recorded already is recognized, hence the same import again goes on where it was cut off.
 */
import { stat } from 'node:fs/promises'
import { derivedMessageId } from '../../domain/ids.js'
import type { Ledger, MessageInput } from '../ledger.js'
import { LedgerError } from '../problem.js'
import { Ended, EXIT, InputError } from './errors.js'
import { idFromName, readConversationFile } from './conversation-file.js'
import type { Flags } from './flags.js'
import { colours, count, line, many, note, noteColours, toJson } from './output.js'
import { duration, startProgress, type Progress } from './progress.js'
import { withLedger } from './session.js'

/** What became of one file. */
interface Imported {
  readonly file: string
  readonly conversationId: string
  recorded: number
  alreadyThere: number
  /** Of this import alone. */
  cycles: number
  batches: number
  resummarized: number
  failures: number
  messageTokens: number
  contextTokens: number
  revision: bigint
}

export interface ImportOptions {
  readonly files: readonly string[]
  readonly conversation: string | undefined
  readonly scope: string | undefined
  readonly json: boolean
}

/** Ctrl-C asks to stop; a second one does not ask. */
function watchInterrupt(): { readonly asked: () => boolean; readonly stop: () => void } {
  let asked = false
  const onSignal = (): void => {
    if (asked) process.exit(EXIT.interrupted)
    asked = true
    note('\nstopping after this message; Ctrl-C once more stops at once (nothing that is recorded is lost)')
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    asked: () => asked,
    stop: () => {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    },
  }
}

class Interrupted extends Error {}

interface Counter {
  messages: number
  bytes: number
}

/** A message of a file; one without an id gets it from its conversation and its place, so that the same file again is the same messages. */
function withId(value: unknown, conversationId: string, place: number): MessageInput {
  const hasId = typeof value !== 'object' || value === null || !('id' in value) || value.id === undefined || value.id === null
  // Whatever it is, the ledger parses it; only the id is ours to add.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (hasId && typeof value === 'object' && value !== null ? { ...value, id: derivedMessageId(conversationId, place) } : value) as MessageInput
}

function named(error: unknown, where: string): unknown {
  if (!(error instanceof LedgerError) || (error.fault !== 'input' && error.fault !== 'state')) return error
  return new InputError(error.failure.kind, `${where}: ${error.message}`)
}

/** Revision of the conversation's last fact before the import; -1n where it is new. */
async function revisionBefore(ledger: Ledger, conversationId: string): Promise<bigint> {
  try {
    return (await ledger.context(conversationId)).revision
  } catch (error) {
    // A leading system message that does not fit has no context; its log can be counted from the start.
    if (error instanceof LedgerError && (error.failure.kind === 'NoSuchConversation' || error.failure.kind === 'LeadingTooLarge')) return -1n
    throw error
  }
}

async function account(ledger: Ledger, done: Imported, before: bigint): Promise<void> {
  if (done.revision < 0n) return
  for await (const fact of ledger.log(done.conversationId, { from: before + 1n })) {
    if (fact.type === 'MessageAppended') done.messageTokens += fact.data.tokens
    else if (fact.type === 'MessagesPruned') done.cycles += 1
    else if (fact.type === 'BatchArchived') done.batches += 1
    else if (fact.type === 'BatchesResummarized') done.resummarized += 1
    else if (fact.type === 'CompactionFailed') done.failures += 1
    done.revision = fact.revision
  }
  done.contextTokens = await ledger.context(done.conversationId).then(({ tokens }) => tokens, () => 0)
}

/** Imports one file; undefined where it is a side file. What was recorded before an error stays. */
async function importFile(ledger: Ledger, file: string, options: ImportOptions, tick: (bytes: number) => void, asked: () => boolean): Promise<Imported | undefined> {
  let done: Imported | undefined
  let before = -1n
  let place = 0
  let id = options.conversation
  const begin = async (): Promise<Imported> => {
    if (id === undefined && file === '-') throw new InputError('Usage', 'standard input has no header that names the conversation: give --conversation')
    const conversationId = id ?? idFromName(file)
    before = await revisionBefore(ledger, conversationId)
    return { file, conversationId, recorded: 0, alreadyThere: 0, cycles: 0, batches: 0, resummarized: 0, failures: 0, messageTokens: 0, contextTokens: 0, revision: before }
  }
  for await (const item of readConversationFile(file)) {
    if (item.kind === 'side-file') return undefined
    if (item.kind === 'header') {
      id ??= item.id
      continue
    }
    done ??= await begin()
    try {
      const appended = await ledger.append(done.conversationId, withId(item.value, done.conversationId, place), options.scope === undefined ? {} : { scope: options.scope })
      if (appended.recorded.length > 0) done.recorded += 1
      else done.alreadyThere += 1
      done.revision = appended.revision
    } catch (error) {
      throw named(error, item.where)
    }
    place += 1
    await ledger.settled(done.conversationId)
    tick(item.bytes)
    if (asked()) throw new Interrupted()
  }
  if (done === undefined) throw new InputError('MalformedInput', `${file === '-' ? 'standard input' : file} holds no message`)
  await account(ledger, done, before)
  return done
}

async function sizeOf(file: string): Promise<number> {
  if (file === '-') return 0
  try {
    const found = await stat(file)
    if (found.isDirectory()) throw new InputError('Usage', `${file} is a folder: name its files`)
    return found.size
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError('Usage', error instanceof Error && 'code' in error && error.code === 'ENOENT' ? `there is no file ${file}` : `${file} cannot be read: ${String(error)}`)
  }
}

const summary = (done: Imported): string => {
  const parts = [
    `${many(done.recorded, 'message')} recorded`,
    ...(done.alreadyThere === 0 ? [] : [`${count(done.alreadyThere)} already there`]),
    many(done.cycles, 'cycle'),
    many(done.batches, 'batch', 'batches'),
    ...(done.resummarized === 0 ? [] : [`${count(done.resummarized)} re-summarized`]),
    ...(done.failures === 0 ? [] : [colours.yellow(`${many(done.failures, 'failed compaction')} (see log)`)]),
    `${count(done.messageTokens)} tokens in, context ${count(done.contextTokens)}`,
  ]
  return `${colours.bold(done.conversationId)}: ${parts.join(', ')}`
}

/** Runs the command. */
export async function runImport(flags: Flags, options: ImportOptions): Promise<void> {
  const files = options.files.length === 0 ? ['-'] : options.files
  if (files.length > 1 && options.conversation !== undefined) throw new InputError('Usage', '--conversation names one conversation: give one file with it')
  if (files.includes('-') && process.stdin.isTTY) throw new InputError('Usage', 'name a file, or pipe messages to standard input')
  let total = 0
  for (const file of files) total += await sizeOf(file)

  await withLedger(flags, { creates: true, writes: true, searches: true }, async ({ ledger }) => {
    const startedAt = performance.now()
    const progress: Progress = await startProgress('importing', files.includes('-') ? 0 : total)
    const interrupt = watchInterrupt()
    const counter: Counter = { messages: 0, bytes: 0 }
    const rate = (): string => `${count(Math.round(counter.messages / Math.max(0.001, (performance.now() - startedAt) / 1000)))} messages/s`
    const tick = (bytes: number): void => {
      counter.messages += 1
      counter.bytes += bytes
      progress.update(counter.bytes, `${many(counter.messages, 'message')}, ${rate()}`)
    }
    const done: Imported[] = []
    const skipped: string[] = []
    try {
      for (const file of files) {
        const imported = await importFile(ledger, file, options, tick, interrupt.asked)
        if (imported === undefined) skipped.push(file)
        else {
          done.push(imported)
          if (!options.json && files.length > 1 && !process.stderr.isTTY) await line(summary(imported))
        }
      }
    } catch (error) {
      progress.stop()
      const stays = `${many(counter.messages, 'message')} before it ${counter.messages === 1 ? 'stays' : 'stay'} recorded; the same import again goes on from there`
      if (error instanceof Interrupted) {
        note(`stopped after ${many(counter.messages, 'message')}; the same import again goes on from there`)
        throw new Ended(EXIT.interrupted)
      }
      if (error instanceof InputError && error.kind !== 'Usage' && counter.messages > 0) throw new InputError(error.kind, `${error.message} (${stays})`)
      throw error
    } finally {
      progress.stop()
      interrupt.stop()
    }
    const seconds = (performance.now() - startedAt) / 1000
    if (done.length === 0) throw new InputError('MalformedInput', `${skipped.join(', ')}: no conversation, but what lies beside one (its first line is neither a header nor a message)`)
    if (options.json) {
      await line(toJson({ conversations: done, skipped, seconds: Number(seconds.toFixed(3)) }))
      return
    }
    for (const file of skipped) note(noteColours.dim(`skipped ${file}: it lies beside a conversation and holds none`))
    if (files.length === 1 || process.stderr.isTTY) for (const imported of done) await line(summary(imported))
    await line(colours.dim(`${many(counter.messages, 'message')} in ${duration(seconds)}, ${rate()}`))
  })
}
