/**
 * Imports messages from files or standard input, one at a time and settled after each, as if the conversation happened
 * now. So a file always gives the same log. What is recorded already is recognized, and the same import again goes on
 * where it was cut off.
 */
import { derivedMessageId } from '../../domain/values/ids.js'
import { importers } from '../../importers/index.js'
import { headOf } from '../../importers/records-of.js'
import type { ImportedTranscript, Ledger, MessageInput } from '../../library/ledger.js'
import { Ended, EXIT, InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { Interrupted, watchInterrupt } from '../interrupt.js'
import { colours, count, line, many, note, noteColours, printable, toJson } from '../output.js'
import { duration, startProgress, type Progress } from '../progress.js'
import { withLedger } from '../session.js'
import { idFromName, readConversationFile, type Item } from './conversation-file.js'
import { countRecorded, importedLine, nothingImported, revisionBefore, type ImportedFile } from './imported-file.js'
import { countTranscript } from './dry-run.js'
import { checkProgram, discover, homesOf, showDiscovered } from './discover.js'
import { planImport, type ImportPlan, type PlannedFile } from './import-plan.js'
import { addTranscript, conversationLine, noTranscripts, totalsLine } from './imported-transcript.js'
import { Intake } from './intake.js'

export interface ImportOptions {
  readonly files: readonly string[]
  readonly conversation?: string | undefined
  readonly scope?: string | undefined
  /** The program that wrote them; undefined recognizes it by what they hold. */
  readonly from?: string | undefined
  /** Reads and counts, and records nothing. */
  readonly dryRun?: boolean
  /** Looks where these programs keep their conversations, in place of files; with `all` takes what is there. */
  readonly discovers?: boolean
  readonly all?: boolean
  /** Keeps up with what grows or appears, and looks at all of it after so many seconds. */
  readonly follow?: number | undefined
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

/** What an import was told, or would be, of one file. */
type FileDone =
  | { readonly kind: 'ours'; readonly imported: ImportedFile }
  | { readonly kind: 'transcript'; readonly imported: ImportedTranscript }
  | { readonly kind: 'skipped' }

/** Everything that an import goes by while it runs. */
interface Course {
  readonly options: ImportOptions
  /** Undefined in a dry run. */
  readonly ledger: Ledger | undefined
  readonly signal: AbortSignal
  readonly tick: (bytes: number) => void
}

/** Counts the messages of a file in a form of ours. */
async function countOurs(
  file: string,
  options: ImportOptions,
  tick: (bytes: number) => void,
  signal: AbortSignal,
): Promise<FileDone> {
  let id = options.conversation
  let messages = 0
  for await (const item of untilAsked(readConversationFile(file), signal)) {
    if (item.kind === 'no-conversation') return { kind: 'skipped' }
    if (item.kind === 'header') id ??= item.id
    else {
      messages += 1
      tick(item.bytes)
    }
  }
  return { kind: 'ours', imported: { ...nothingImported(file, id ?? idFromName(file), -1n), recorded: messages } }
}

/** A file in a form of ours. One that was found in a folder and is none is skipped; one that was named is an error. */
async function importOurs({ ledger, options, signal, tick }: Course, file: PlannedFile): Promise<FileDone> {
  try {
    if (ledger === undefined) return await countOurs(file.path, options, tick, signal)
    const imported = await importFile(ledger, file.path, options, tick, signal)
    return imported === undefined ? { kind: 'skipped' } : { kind: 'ours', imported }
  } catch (error) {
    if (file.isFound && error instanceof InputError && error.kind === 'MalformedInput') return { kind: 'skipped' }
    throw error
  }
}

async function importTranscript(course: Course, file: PlannedFile, program: string): Promise<FileDone> {
  const { ledger, options, signal, tick } = course
  const each = file.bytes / ITEMS_RECKONED
  const onItem = (): void => {
    tick(each)
  }
  if (ledger === undefined)
    return { kind: 'transcript', imported: await countTranscript(file.path, program, onItem, signal) }
  const imported = await ledger.importTranscript(file.path, {
    from: program,
    ...(options.scope === undefined ? {} : { scope: options.scope }),
    signal,
    onItem,
  })
  return { kind: 'transcript', imported }
}

/** Items that a transcript is reckoned to have while it is read; its end sets the bar right. */
const ITEMS_RECKONED = 1_000

/** Runs the command. */
export async function runImport(flags: Flags, options: ImportOptions): Promise<void> {
  checkProgram(options.from)
  if (options.all === true && options.discovers !== true) throw new InputError('Usage', '--yes goes with --discover')
  if (options.discovers === true && options.files.length > 0)
    throw new InputError('Usage', '--discover goes without files: it looks where these programs keep them')
  if (options.follow !== undefined) {
    await runFollow(flags, options, options.follow)
    return
  }
  if (options.discovers === true) {
    const found = await discover(options.from)
    if (options.all !== true || found.length === 0) {
      await showDiscovered(found, options.json)
      return
    }
    await importPlanned(flags, { files: found.flatMap(({ files }) => files), skipped: [] }, options)
    return
  }
  const paths = options.files.length === 0 ? ['-'] : options.files
  if (paths.includes('-') && process.stdin.isTTY)
    throw new InputError('Usage', 'name a file or a folder, or pipe messages to standard input')
  await importPlanned(flags, await planImport(paths, options.from), options)
}

/** Follows what was named, or what these programs keep here. */
async function runFollow(flags: Flags, options: ImportOptions, pollSeconds: number): Promise<void> {
  const no = (sentence: string): never => {
    throw new InputError('Usage', sentence)
  }
  if (options.dryRun === true) no('--follow records: it goes without --dry-run')
  if (options.conversation !== undefined) no('--follow goes without --conversation: transcripts name their own')
  if (options.files.includes('-')) no('--follow goes by files and folders, not by standard input')
  if (options.discovers !== options.all) no('--follow with --discover takes all of it: give --yes')
  if (!options.discovers && options.files.length === 0)
    no('name a file or a folder to follow, or give --discover --yes')
  const paths = options.discovers === true ? homesOf(options.from) : options.files
  const { endSignals } = await import('../end-signals.js')
  const { followTranscripts } = await import('./follow.js')
  await withLedger(flags, { creates: true, writes: true, searches: true }, async ({ ledger }) => {
    const ended = endSignals()
    const over = new AbortController()
    const ends = ended.signalled.finally(() => {
      over.abort()
    })
    note(noteColours.dim(`following ${paths.join(', ')}; Ctrl-C ends it`))
    await followTranscripts(ledger, paths, {
      from: options.from,
      scope: options.scope,
      json: options.json,
      pollMs: pollSeconds * 1_000,
      signal: over.signal,
    })
    await ends
  })
}

async function importPlanned(
  flags: Flags,
  { files, skipped: passedOver }: ImportPlan,
  options: ImportOptions,
): Promise<void> {
  if (options.conversation !== undefined && (files.length > 1 || files.some(({ program }) => program !== undefined)))
    throw new InputError('Usage', '--conversation names one conversation: give one file of messages with it')
  const total = files.some(({ path }) => path === '-') ? 0 : files.reduce((sum, { bytes }) => sum + bytes, 0)
  if (options.dryRun === true) {
    await importAll(undefined, files, total, passedOver, options)
    return
  }
  await withLedger(flags, { creates: true, writes: true, searches: true }, async ({ ledger }) => {
    await importAll(ledger, files, total, passedOver, options)
  })
}

async function importAll(
  ledger: Ledger | undefined,
  files: readonly PlannedFile[],
  total: number,
  passedOver: readonly string[],
  options: ImportOptions,
): Promise<void> {
  const startedAt = performance.now()
  const progress: Progress = await startProgress(ledger === undefined ? 'reading' : 'importing', total)
  const interrupt = watchInterrupt(() => {
    // Nobody may ever write another line there; what was read of it is recorded.
    process.stdin.destroy()
    note('\nstopping after this message; Ctrl-C once more stops at once (nothing that is recorded is lost)')
  })
  const counter: Counter = { messages: 0, bytes: 0 }
  const rate = (): string =>
    `${count(Math.round(counter.messages / Math.max(0.001, (performance.now() - startedAt) / 1000)))} messages/s`
  const course: Course = {
    options,
    ledger,
    signal: interrupt.signal,
    tick(bytes) {
      counter.messages += 1
      counter.bytes += bytes
      progress.update(Math.min(counter.bytes, total), `${many(counter.messages, 'message')}, ${rate()}`)
    },
  }
  const done: ImportedFile[] = []
  const transcripts: ImportedTranscript[] = []
  const totals = noTranscripts()
  const skipped: string[] = [...passedOver]
  const showsLines = !options.json && (files.length > 1 || ledger === undefined) && !process.stderr.isTTY
  let read = 0
  try {
    for (const file of files) {
      const { program } = file
      const said =
        program === undefined ? await importOurs(course, file) : await importTranscript(course, file, program)
      read += file.bytes
      counter.bytes = read
      if (said.kind === 'skipped') skipped.push(file.path)
      else if (said.kind === 'ours') {
        done.push(said.imported)
        if (showsLines) await line(importedLine(said.imported))
      } else {
        transcripts.push(said.imported)
        addTranscript(totals, said.imported)
        if (showsLines) for (const each of said.imported.conversations) await line(conversationLine(each))
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
  if (done.length === 0 && transcripts.length === 0)
    throw new InputError(
      'MalformedInput',
      files.length === 1 && files[0]?.isFound === false
        ? `${skipped.join(', ')}: holds no conversation: its first line is neither a header nor a message, and it is no transcript of ${importers.map(({ program }) => program).join(', ')}; it begins with ${await beginning(files[0].path)}`
        : `nothing to import: ${many(skipped.length, 'file')} skipped, none of which holds a conversation`,
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
    await line(
      toJson({
        conversations: done,
        ...(transcripts.length === 0 ? {} : { transcripts, totals }),
        skipped,
        ...(ledger === undefined ? { dryRun: true } : {}),
        seconds: Number(seconds.toFixed(3)),
      }),
    )
    return
  }
  if (skipped.length > 0)
    note(
      noteColours.dim(
        `skipped files that hold no conversation: ${skipped.slice(0, NAMED_FILES).join(', ')}${skipped.length > NAMED_FILES ? ` and ${many(skipped.length - NAMED_FILES, 'other file')}` : ''}`,
      ),
    )
  if (!showsLines) {
    for (const imported of done) await line(importedLine(imported))
    for (const imported of transcripts) for (const each of imported.conversations) await line(conversationLine(each))
  }
  for (const { file, damage } of transcripts)
    for (const { isCut, detail, where } of damage)
      note(
        noteColours.yellow(
          isCut
            ? `${file}: its last line is cut off; what was written before it is taken`
            : `${file}${where.line === undefined ? '' : `:${String(where.line)}`}: ${printable(detail)}`,
        ),
      )
  if (transcripts.length > 0)
    await line(colours.dim(`${totalsLine(totals)}${ledger === undefined ? '; nothing is recorded (--dry-run)' : ''}`))
  if (done.length > 0)
    await line(colours.dim(`${many(counter.messages, 'message')} in ${duration(seconds)}, ${rate()}`))
  if (refusal !== undefined) throw refusal
}

/** How a file begins, for a complaint. */
async function beginning(path: string): Promise<string> {
  return path === '-' ? 'standard input' : JSON.stringify((await headOf(path)).text.slice(0, 120))
}
