/**
 * Imports messages from files or standard input, one at a time and settled after each, as if the conversation happened
 * now. So a file always gives the same log. What is recorded already is recognized, and the same import again goes on
 * where it was cut off.
 */
import { stat } from 'node:fs/promises'
import { derivedMessageId } from '../../domain/values/ids.js'
import type { Ledger, MessageInput } from '../../library/ledger.js'
import { neighbour } from '../config/named-files.js'
import { Ended, EXIT, InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { Interrupted, watchInterrupt } from '../interrupt.js'
import { colours, count, line, many, note, noteColours, toJson } from '../output.js'
import { duration, startProgress, type Progress } from '../progress.js'
import { withLedger } from '../session.js'
import { idFromName, readConversationFile, type Item } from './conversation-file.js'
import { countRecorded, importedLine, nothingImported, revisionBefore, type ImportedFile } from './imported-file.js'
import { Intake } from './intake.js'

export interface ImportOptions {
  readonly files: readonly string[]
  readonly conversation: string | undefined
  readonly scope: string | undefined
  readonly json: boolean
}

/** Skipped files that are named; a glob may bring hundreds along. */
const NAMED_FILES = 3

/** The items of a file, until somebody asks to stop. */
async function* untilAsked(items: AsyncIterable<Item>, signal: AbortSignal): AsyncIterable<Item> {
  try {
    for await (const item of items) {
      signal.throwIfAborted()
      yield item
    }
  } catch (error) {
    // Standard input that is closed under its reader ends with an error of its own.
    throw signal.aborted && error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
      ? signal.reason
      : error
  }
  signal.throwIfAborted()
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
  const isWithoutId =
    typeof value === 'object' && value !== null && (!('id' in value) || value.id === undefined || value.id === null)
  // Whatever it is, the ledger parses it; only the id is ours to add.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (isWithoutId ? { ...value, id: derivedMessageId(conversationId, place) } : value) as MessageInput
}

/** Imports one file; undefined where it holds records of another kind. What was recorded before an error stays. */
async function importFile(
  ledger: Ledger,
  file: string,
  options: ImportOptions,
  tick: (bytes: number) => void,
  signal: AbortSignal,
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
    return new Intake(ledger, nothingImported(file, conversationId, before), options.scope)
  }
  for await (const item of untilAsked(readConversationFile(file), signal)) {
    if (item.kind === 'no-conversation') return undefined
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
  await countRecorded(ledger, intake.done, before)
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
    const interrupt = watchInterrupt(() => {
      // Nobody may ever write another line there; what was read of it is recorded.
      process.stdin.destroy()
      note('\nstopping after this message; Ctrl-C once more stops at once (nothing that is recorded is lost)')
    })
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
        const imported = await importFile(ledger, file, options, tick, interrupt.signal)
        if (imported === undefined) skipped.push(file)
        else {
          done.push(imported)
          if (!options.json && files.length > 1 && !process.stderr.isTTY) await line(importedLine(imported))
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
      interrupt.forget()
    }
    const seconds = (performance.now() - startedAt) / 1000
    if (done.length === 0)
      throw new InputError(
        'MalformedInput',
        `${skipped.join(', ')}: holds no conversation: its first line is neither a header nor a message`,
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
          `skipped files that hold no conversation: ${skipped.slice(0, NAMED_FILES).join(', ')}${skipped.length > NAMED_FILES ? ` and ${many(skipped.length - NAMED_FILES, 'other file')}` : ''}`,
        ),
      )
    if (files.length === 1 || process.stderr.isTTY) for (const imported of done) await line(importedLine(imported))
    await line(colours.dim(`${many(counter.messages, 'message')} in ${duration(seconds)}, ${rate()}`))
    if (refusal !== undefined) throw refusal
  })
}
