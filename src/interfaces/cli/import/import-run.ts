/** One run of `import` over its planned files: progress, results and output. */
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'
import { importers } from '../../../application/importers/index.js'
import { unreadFormOf } from '../../../application/importers/unread-forms.js'
import { headOf } from '../../../application/importers/records-of.js'
import type { TranscriptItem } from '../../../application/importers/transcript.js'
import type { ImportedConversation, ImportedTranscript, Ledger } from '../../../library/ledger.js'
import { titlesOf, type Titles } from '../../../library/titles.js'
import { CommandExit, EXIT } from '../errors.js'
import { watchInterrupt } from '../interrupt.js'
import { colours, count, line, many, note, noteColours, printable, typed } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { duration, startProgress, type Progress } from '../progress.js'
import { ByteEstimate } from './byte-estimate.js'
import { ConversationNames } from './conversation-names.js'
import { countTranscript, type CountedTranscript } from './dry-run.js'
import type { PlannedFile } from './import-plan.js'
import { importedLine, type ImportedFile } from './imported-file.js'
import { addTranscript, conversationLine, hasContent, noTranscripts, totalsLine } from './imported-transcript.js'
import {
  countMessageFile,
  importMessageFile,
  rejectUnsupportedFormat,
  type MessageFileOptions,
} from './message-file.js'
import { plannedImport, plannedLines, type PlannedImport } from './planned-import.js'

export interface ImportRunOptions extends Omit<MessageFileOptions, 'names'> {
  readonly json: boolean
}

/** Maximum number of skipped files that are listed. */
const MAX_LISTED_FILES = 10
/** Maximum number of skipped files that are read to name what they are. */
const MAX_READ_FILES = 1_000
const NO_HEAD = { path: '', records: [], text: '-' }

/** The result of one file. */
type FileResult =
  | { readonly kind: 'messages'; readonly imported: ImportedFile }
  | { readonly kind: 'transcript'; readonly imported: ImportedTranscript | CountedTranscript }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'refused'; readonly reason: string }

export class ImportRun {
  private readonly startedAt = performance.now()
  private readonly totalBytes: number
  private readonly byteEstimate = new ByteEstimate()
  private readonly showsLines: boolean
  private readonly names: ConversationNames
  private progress: Progress | undefined
  private messages = 0
  /** Bytes read so far, for the progress bar. */
  private bytes = 0
  /** Tokens of transcripts in a dry run. */
  private transcriptTokens = 0
  /** Bytes of the files that contain a conversation. */
  private importedBytes = 0
  private readonly files: ImportedFile[] = []
  private readonly transcripts: ImportedTranscript[] = []
  private readonly totals = noTranscripts()
  private readonly skipped: string[]
  /** Files that cannot be imported, with the reason. */
  private readonly refused: { readonly path: string; readonly isFound: boolean; readonly reason: string }[] = []

  /**
   * @param ledger undefined in a dry run
   * @param skipped files that the plan has skipped
   */
  constructor(
    private readonly ledger: Ledger | undefined,
    private readonly planned: readonly PlannedFile[],
    skipped: readonly string[],
    private readonly options: ImportRunOptions,
  ) {
    this.skipped = [...skipped]
    this.names = new ConversationNames(ledger)
    this.totalBytes = planned.some(({ path }) => path === '-') ? 0 : planned.reduce((sum, { bytes }) => sum + bytes, 0)
    this.showsLines = !options.json && planned.length > 1 && ledger !== undefined && !process.stderr.isTTY
  }

  /** Imports all files and prints the result. */
  async run(): Promise<void> {
    await this.importFiles()
    const seconds = (performance.now() - this.startedAt) / 1000
    if (this.files.length === 0 && !this.hasTranscript()) throw await this.nothingToImport()
    const refusal = this.contextRefusal()
    if (this.options.json && refusal !== undefined) throw refusal
    const planned = this.ledger === undefined ? this.dryRunResult() : undefined
    if (this.options.json) await this.printDocument(planned, seconds)
    else await this.printText(planned, seconds)
    if (refusal !== undefined) throw refusal
    // A file that the user named was not imported.
    if (this.refused.some(({ isFound }) => !isFound)) throw new CommandExit(EXIT.input)
  }

  /** Whether a transcript could be read. A file with damage alone could not. */
  private hasTranscript(): boolean {
    return this.transcripts.some(({ damage, conversations }) => damage.length === 0 || conversations.some(hasContent))
  }

  private async importFiles(): Promise<void> {
    const progress = await startProgress(this.ledger === undefined ? 'reading' : 'importing', this.totalBytes)
    this.progress = progress
    const interrupt = watchInterrupt(() => {
      // Standard input may never have another line, so do not wait for one. Messages read so far are recorded.
      process.stdin.destroy()
      note('\nstopping after this message; everything recorded so far is kept. Press Ctrl-C again to stop now')
    })
    let readBytes = 0
    try {
      for (const file of this.planned) {
        const result = await this.importFile(file, interrupt.signal).catch((error: unknown) =>
          this.refusal(file, error),
        )
        readBytes += file.bytes
        this.byteEstimate.finish(file.bytes)
        this.bytes = readBytes
        await this.addResult(file, result)
      }
    } catch (error) {
      progress.stop()
      if (error !== interrupt.signal.reason) throw error
      note(`stopped after ${many(this.messages, 'message')}; run the same import again to continue`)
      throw new CommandExit(EXIT.interrupted)
    } finally {
      progress.stop()
      interrupt.forget()
    }
  }

  /** One refused file does not end an import of several. Any other error does. */
  private refusal({ isFound }: PlannedFile, error: unknown): FileResult {
    const isOfFile =
      (isLedgerError(error) && error.kind !== 'Usage' && (error.fault === 'input' || error.fault === 'state')) ||
      codeOf(error) === 'EACCES' ||
      codeOf(error) === 'ENOENT'
    if (!isOfFile || (this.planned.length === 1 && !isFound)) throw error
    return { kind: 'refused', reason: sentenceOf(error) }
  }

  private async importFile(file: PlannedFile, signal: AbortSignal): Promise<FileResult> {
    return file.program === undefined
      ? await this.importMessages(file, signal)
      : await this.importTranscript(file, file.program, signal)
  }

  /** A file in our own format. An invalid file is skipped if it was found in a directory, and an error if it was named. */
  private async importMessages({ path, isFound }: PlannedFile, signal: AbortSignal): Promise<FileResult> {
    const tick = (bytes: number): void => {
      this.tick(bytes, true)
    }
    const options = { ...this.options, names: this.names }
    try {
      await rejectUnsupportedFormat(path)
      const imported =
        this.ledger === undefined
          ? await countMessageFile(path, options, tick, signal)
          : await importMessageFile(this.ledger, path, options, tick, signal)
      return imported === undefined ? { kind: 'skipped' } : { kind: 'messages', imported }
    } catch (error) {
      if (isFound && isLedgerError(error, 'MalformedInput')) return { kind: 'skipped' }
      throw path === '-' ? this.withRecorded(error) : error
    }
  }

  private async importTranscript(file: PlannedFile, program: string, signal: AbortSignal): Promise<FileResult> {
    const onItem = (item: TranscriptItem): void => {
      this.tick(this.byteEstimate.add(item, file.bytes), item.kind === 'message')
    }
    const { scope } = this.options
    if (this.ledger === undefined)
      return { kind: 'transcript', imported: await countTranscript(file.path, program, scope, onItem, signal) }
    const imported = await this.ledger.transcripts.import(file.path, {
      from: program,
      ...(scope === undefined ? {} : { scope }),
      signal,
      onItem,
    })
    return { kind: 'transcript', imported }
  }

  private tick(bytes: number, isMessage: boolean): void {
    if (isMessage) this.messages += 1
    this.bytes += bytes
    this.progress?.update(
      Math.min(this.bytes, this.totalBytes),
      `${many(this.messages, 'message')}, ${this.messageRate()}`,
    )
  }

  private messageRate(): string {
    const seconds = Math.max(0.001, (performance.now() - this.startedAt) / 1000)
    return `${count(Math.round(this.messages / seconds))} messages/s`
  }

  private async addResult(file: PlannedFile, result: FileResult): Promise<void> {
    if (result.kind === 'skipped') {
      this.skipped.push(file.path)
      return
    }
    if (result.kind === 'refused') {
      this.refused.push({ path: file.path, isFound: file.isFound, reason: result.reason })
      return
    }
    this.importedBytes += file.bytes
    if (result.kind === 'messages') {
      this.files.push(result.imported)
      if (this.showsLines) await this.showFiles([result.imported])
      return
    }
    this.transcripts.push(result.imported)
    if ('tokens' in result.imported) this.transcriptTokens += result.imported.tokens
    addTranscript(this.totals, result.imported)
    if (this.showsLines) await this.showConversations(result.imported.conversations)
  }

  private async titlesOf(conversations: readonly { readonly conversationId: string }[]): Promise<Titles> {
    const ids = conversations.map(({ conversationId }) => conversationId)
    return this.ledger === undefined ? new Map() : await titlesOf(this.ledger, ids)
  }

  private async showFiles(files: readonly ImportedFile[]): Promise<void> {
    const titles = await this.titlesOf(files)
    for (const each of files) await line(importedLine(each, titles))
  }

  private async showConversations(conversations: readonly ImportedConversation[]): Promise<void> {
    const reported = conversations.filter(hasContent)
    const titles = await this.titlesOf(reported)
    for (const each of reported) await line(conversationLine(each, titles))
  }

  /** Adds to an error of standard input that the messages before it stay recorded. */
  private withRecorded(error: unknown): unknown {
    const isOfFile = isLedgerError(error) && (error.fault === 'input' || error.fault === 'state')
    if (!isOfFile || error.kind === 'Usage' || this.messages === 0) return error
    return new LedgerError(
      error.kind,
      `${error.message} (${many(this.messages, 'message')} before it ${this.messages === 1 ? 'stays' : 'stay'} recorded; run the same import again to continue)`,
    )
  }

  private async nothingToImport(): Promise<LedgerError> {
    const reasons = [
      ...this.refused.map(({ reason }) => reason),
      ...this.transcripts.flatMap(({ file, damage }) => damage.map(({ detail }) => `${file}: ${detail}`)),
    ]
    if (reasons.length > 0) return new LedgerError('MalformedInput', `nothing to import: ${reasons.join('; ')}`)
    const [only] = this.planned
    if (only === undefined || this.planned.length > 1 || only.isFound)
      return new LedgerError(
        'MalformedInput',
        `nothing to import: skipped ${many(this.skipped.length, 'file')} without a conversation`,
      )
    const programs = importers.map(({ program }) => program).join(', ')
    return new LedgerError(
      'MalformedInput',
      `${this.skipped.join(', ')} contains no conversation: the first line is neither a header nor a message, and the file is not a transcript of ${programs}; it begins with ${await beginning(only.path)}`,
    )
  }

  /** The error for a recorded conversation that cannot have a context. */
  private contextRefusal(): LedgerError | undefined {
    for (const { conversationId, unusable } of this.files)
      if (unusable !== undefined)
        return new LedgerError(
          unusable.kind,
          `${conversationId} is recorded but has no context: ${unusable.message}; set a larger window with --model-max-tokens`,
        )
    return undefined
  }

  private dryRunResult(): PlannedImport {
    return plannedImport({
      done: this.files,
      transcripts: this.transcripts,
      tokens: this.transcriptTokens,
      bytes: this.importedBytes,
    })
  }

  private async printDocument(planned: PlannedImport | undefined, seconds: number): Promise<void> {
    const { files, transcripts, totals, skipped } = this
    await line(
      toWire({
        ...(planned === undefined ? { conversations: files } : {}),
        ...(transcripts.length === 0 ? {} : { transcripts, totals }),
        skipped,
        ...(this.refused.length === 0
          ? {}
          : { refused: this.refused.map(({ path, reason }) => ({ file: path, reason })) }),
        ...(planned === undefined ? {} : { dryRun: true, wouldImport: planned }),
        seconds: Number(seconds.toFixed(3)),
      }),
    )
  }

  private async printText(planned: PlannedImport | undefined, seconds: number): Promise<void> {
    const { files, transcripts } = this
    if (this.skipped.length > 0) await this.noteSkipped()
    if (planned !== undefined) for (const each of plannedLines(planned)) await line(each)
    else if (!this.showsLines) {
      await this.showFiles(files)
      await this.showConversations(transcripts.flatMap(({ conversations }) => conversations))
    }
    this.noteRefused()
    this.noteDamage()
    if (planned !== undefined) return
    if (transcripts.length > 0) await line(colours.dim(totalsLine(this.totals)))
    this.noteLosses()
    if (files.length > 0)
      await line(colours.dim(`${many(this.messages, 'message')} in ${duration(seconds)}, ${this.messageRate()}`))
  }

  /** Lists files without a conversation, a line for each kind of file that is known by its beginning. */
  private async noteSkipped(): Promise<void> {
    const { skipped } = this
    const kinds = new Map<string, string[]>()
    const otherFiles: string[] = []
    for (const [at, path] of skipped.entries()) {
      const form = at < MAX_READ_FILES ? unreadFormOf(await headOf(path).catch(() => NO_HEAD)) : undefined
      if (form === undefined) otherFiles.push(path)
      else kinds.set(form.name, [...(kinds.get(form.name) ?? []), path])
    }
    note(noteColours.dim(`Skipped ${many(skipped.length, 'file')} without a conversation:`))
    for (const [name, paths] of kinds)
      note(
        noteColours.dim(
          `  ${printable(paths[0] ?? '')}${paths.length === 1 ? '' : ` and ${count(paths.length - 1)} more`}: ${name}`,
        ),
      )
    for (const path of otherFiles.slice(0, MAX_LISTED_FILES)) note(noteColours.dim(`  ${printable(path)}`))
    if (otherFiles.length > MAX_LISTED_FILES)
      note(noteColours.dim(`  and ${count(otherFiles.length - MAX_LISTED_FILES)} more`))
  }

  /** Lists files that could not be imported. */
  private noteRefused(): void {
    for (const { path, reason } of this.refused)
      note(noteColours.yellow(reason.includes(path) ? printable(reason) : `${printable(path)}: ${printable(reason)}`))
  }

  /** Names the commands that show what compactions lost. */
  private noteLosses(): void {
    const imported = [...this.files, ...this.transcripts.flatMap(({ conversations }) => conversations)]
    const worst = imported.reduce<{ conversationId: string; lost?: number } | undefined>(
      (most, each) => ((each.lost ?? 0) > (most?.lost ?? 0) ? each : most),
      undefined,
    )
    if (worst !== undefined)
      note(
        noteColours.dim(
          `\`context-ledger forgotten ${typed(worst.conversationId)}\` lists what was lost; \`context-ledger page\` shows it in a browser`,
        ),
      )
  }

  /** Lists records that could not be read. */
  private noteDamage(): void {
    for (const { file, damage } of this.transcripts)
      for (const { isCut, detail, where } of damage)
        note(
          noteColours.yellow(
            isCut
              ? `${file}: the last line is incomplete; the lines before it were imported`
              : `${file}${where.line === undefined ? '' : `:${String(where.line)}`}: ${printable(detail)}`,
          ),
        )
  }
}

/** The start of a file, for an error message. */
async function beginning(path: string): Promise<string> {
  return path === '-' ? 'standard input' : JSON.stringify((await headOf(path)).text.slice(0, 120))
}
