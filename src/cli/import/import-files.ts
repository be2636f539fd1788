/**
 * `import`: messages from files or standard input, one at a time and settled after each, as if the conversation
 * happened now; so that a
 * file always gives the same log. What is recorded already is recognized, hence the same import again goes on where it
 * was cut off.
 */
import { stat } from 'node:fs/promises'
import { either as E } from 'fp-ts'
import { derivedMessageId } from '../../domain/values/ids.js'
import { messageHash, parseMessage } from '../../domain/values/message.js'
import type { Ledger, MessageInput } from '../../library/ledger.js'
import { LedgerError } from '../../library/problem.js'
import { neighbour } from '../config.js'
import { Ended, EXIT, InputError } from '../errors.js'
import { idFromName, readConversationFile, type Item } from './conversation-file.js'
import type { Flags } from '../flags.js'
import { colours, count, line, many, note, noteColours, toJson } from '../output.js'
import { duration, startProgress, type Progress } from '../progress.js'
import { withLedger } from '../session.js'

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

interface ImportedFile extends Imported {
  /** Why no context can be made of what is recorded. */
  unusable?: LedgerError
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
    // Nobody may ever write another line there; what was read of it is recorded.
    process.stdin.destroy()
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

/** Skipped files that are named; a glob may bring hundreds along. */
const NAMED_FILES = 3

class Interrupted extends Error {}

/** The items of a file, until somebody asks to stop. */
async function* untilAsked(items: AsyncIterable<Item>, asked: () => boolean): AsyncIterable<Item> {
  try {
    for await (const item of items) {
      if (asked()) throw new Interrupted()
      yield item
    }
  } catch (error) {
    // Standard input that is closed under its reader ends with an error of its own.
    throw asked() && error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
      ? new Interrupted()
      : error
  }
  if (asked()) throw new Interrupted()
}

interface Counter {
  messages: number
  bytes: number
}

/**
 * A message of a file; one without an id gets it from its conversation and its place, so that the same file again is
 * the same messages.
 */
function withId(value: unknown, conversationId: string, place: number): MessageInput {
  const hasId =
    typeof value !== 'object' || value === null || !('id' in value) || value.id === undefined || value.id === null
  // Whatever it is, the ledger parses it; only the id is ours to add.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (
    hasId && typeof value === 'object' && value !== null
      ? { ...value, id: derivedMessageId(conversationId, place) }
      : value
  ) as MessageInput
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
    // Leading or pinned messages that do not fit leave no context; its log can be counted from the start.
    if (
      error instanceof LedgerError &&
      (error.failure.kind === 'NoSuchConversation' ||
        error.failure.kind === 'LeadingTooLarge' ||
        error.failure.kind === 'PinnedTooLarge')
    )
      return -1n
    throw error
  }
}

async function account(ledger: Ledger, done: ImportedFile, before: bigint): Promise<void> {
  if (done.revision < 0n) return
  for await (const event of ledger.log(done.conversationId, { from: before + 1n })) {
    if (event.type === 'MessageAppended') done.messageTokens += event.data.tokens
    else if (event.type === 'MessagesPruned') done.cycles += 1
    else if (event.type === 'BatchArchived') done.batches += 1
    else if (event.type === 'BatchesResummarized') done.resummarized += 1
    else if (event.type === 'CompactionFailed') done.failures += 1
    done.revision = event.revision
  }
  try {
    done.contextTokens = (await ledger.context(done.conversationId)).tokens
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error
    done.unusable = error
  }
}

/**
 * Hashes of the messages that the log has, by id: to pass over a long stretch of them without asking the store for
 * each.
 */
async function recordedMessages(ledger: Ledger, conversationId: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for await (const event of ledger.log(conversationId))
    if (event.type === 'MessageAppended') found.set(event.data.messageId, messageHash(event.data))
  return found
}

/** Whether the log has this very message; one with other content is for the ledger to refuse. */
function isRecorded(recorded: ReadonlyMap<string, string>, message: MessageInput): boolean {
  const parsed = parseMessage(message)
  return (
    E.isRight(parsed) &&
    parsed.right.messageId !== undefined &&
    recorded.get(parsed.right.messageId) === messageHash(parsed.right)
  )
}

interface PlacedMessage {
  readonly message: MessageInput
  readonly where: string
}

/** The messages of one file on their way into its conversation. */
class Intake {
  recorded: ReadonlyMap<string, string> | undefined
  /**
   * The last message that was passed over. It is asked for after all before anything new: compaction that a kill cut
   * off behind it runs first, as it would have.
   */
  private held: PlacedMessage | undefined

  constructor(
    private readonly ledger: Ledger,
    readonly done: ImportedFile,
    private readonly scope: string | undefined,
  ) {}

  async take(placed: PlacedMessage): Promise<void> {
    if (this.recorded !== undefined && isRecorded(this.recorded, placed.message)) {
      if (this.held !== undefined) this.done.alreadyThere += 1
      this.held = placed
      return
    }
    await this.flush()
    await this.append(placed)
  }

  async flush(): Promise<void> {
    const { held } = this
    this.held = undefined
    if (held !== undefined) await this.append(held)
  }

  private async append({ message, where }: PlacedMessage): Promise<void> {
    const { conversationId } = this.done
    try {
      const appended = await this.ledger.append(
        conversationId,
        message,
        this.scope === undefined ? {} : { scope: this.scope },
      )
      this.done.revision = appended.revision
      if (appended.recorded.length > 0) this.done.recorded += 1
      else {
        this.done.alreadyThere += 1
        this.recorded ??= await recordedMessages(this.ledger, conversationId)
      }
    } catch (error) {
      throw named(error, where)
    }
    await this.ledger.settled(conversationId)
  }
}

/** Imports one file; undefined where it is a side file. What was recorded before an error stays. */
async function importFile(
  ledger: Ledger,
  file: string,
  options: ImportOptions,
  tick: (bytes: number) => void,
  asked: () => boolean,
): Promise<ImportedFile | undefined> {
  let intake: Intake | undefined
  let before = -1n
  let place = 0
  let id = options.conversation
  const begin = async (): Promise<Intake> => {
    if (id === undefined && file === '-')
      throw new InputError('Usage', 'standard input has no header that names the conversation: give --conversation')
    const conversationId = id ?? idFromName(file)
    before = await revisionBefore(ledger, conversationId)
    const done: ImportedFile = {
      file,
      conversationId,
      recorded: 0,
      alreadyThere: 0,
      cycles: 0,
      batches: 0,
      resummarized: 0,
      failures: 0,
      messageTokens: 0,
      contextTokens: 0,
      revision: before,
    }
    return new Intake(ledger, done, options.scope)
  }
  for await (const item of untilAsked(readConversationFile(file), asked)) {
    if (item.kind === 'side-file') return undefined
    if (item.kind === 'header') {
      id ??= item.id
      continue
    }
    intake ??= await begin()
    await intake.take({ message: withId(item.value, intake.done.conversationId, place), where: item.where })
    place += 1
    tick(item.bytes)
  }
  if (intake === undefined)
    throw new InputError('MalformedInput', `${file === '-' ? 'standard input' : file} holds no message`)
  await intake.flush()
  await account(ledger, intake.done, before)
  return intake.done
}

async function sizeOf(file: string): Promise<number> {
  if (file === '-') return 0
  if (file.trim() === '') throw new InputError('Usage', `a name of a file is empty: "${file}"`)
  try {
    const found = await stat(file)
    if (found.isDirectory()) throw new InputError('Usage', `${file} is a folder: name its files`)
    return found.size
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(
      'Usage',
      error instanceof Error && 'code' in error && error.code === 'ENOENT'
        ? `there is no file ${file}${await neighbour(file)}`
        : `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

const summary = (done: ImportedFile): string => {
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
  if (files.length > 1 && options.conversation !== undefined)
    throw new InputError('Usage', '--conversation names one conversation: give one file with it')
  if (files.includes('-') && process.stdin.isTTY)
    throw new InputError('Usage', 'name a file, or pipe messages to standard input')
  let total = 0
  for (const file of files) total += await sizeOf(file)

  await withLedger(flags, { creates: true, writes: true, searches: true }, async ({ ledger }) => {
    const startedAt = performance.now()
    const progress: Progress = await startProgress('importing', files.includes('-') ? 0 : total)
    const interrupt = watchInterrupt()
    const counter: Counter = { messages: 0, bytes: 0 }
    const rate = (): string =>
      `${count(Math.round(counter.messages / Math.max(0.001, (performance.now() - startedAt) / 1000)))} messages/s`
    const tick = (bytes: number): void => {
      counter.messages += 1
      counter.bytes += bytes
      progress.update(counter.bytes, `${many(counter.messages, 'message')}, ${rate()}`)
    }
    const done: ImportedFile[] = []
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
      if (error instanceof InputError && error.kind !== 'Usage' && counter.messages > 0)
        throw new InputError(error.kind, `${error.message} (${stays})`)
      throw error
    } finally {
      progress.stop()
      interrupt.stop()
    }
    const seconds = (performance.now() - startedAt) / 1000
    if (done.length === 0)
      throw new InputError(
        'MalformedInput',
        `${skipped.join(', ')}: no conversation, but what lies beside one (its first line is neither a header nor a message)`,
      )
    const unusable = done.find((imported) => imported.unusable !== undefined)
    const refusal =
      unusable?.unusable === undefined
        ? undefined
        : new InputError(
            unusable.unusable.failure.kind,
            `${unusable.conversationId} is recorded, and no context can be made of it: ${unusable.unusable.message}; --model-max-tokens gives it a larger window`,
          )
    if (options.json && refusal !== undefined) throw refusal
    if (options.json) {
      await line(toJson({ conversations: done, skipped, seconds: Number(seconds.toFixed(3)) }))
      return
    }
    if (skipped.length > 0)
      note(
        noteColours.dim(
          `skipped what lies beside conversations and holds none: ${skipped.slice(0, NAMED_FILES).join(', ')}${skipped.length > NAMED_FILES ? ` and ${many(skipped.length - NAMED_FILES, 'other file')}` : ''}`,
        ),
      )
    if (files.length === 1 || process.stderr.isTTY) for (const imported of done) await line(summary(imported))
    await line(colours.dim(`${many(counter.messages, 'message')} in ${duration(seconds)}, ${rate()}`))
    if (refusal !== undefined) throw refusal
  })
}
