/** One run of `import` over its planned files. */
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import { sentenceOf } from '../../../ports/store-error.js'
import type { TranscriptItem } from '../../../application/importers/transcript.js'
import type { Ledger } from '../../../library/ledger.js'
import { CommandExit, EXIT } from '../errors.js'
import { watchInterrupt } from '../interrupt.js'
import { many, note } from '../output.js'
import { ConversationNames } from './conversation-names.js'
import { countTranscript } from './dry-run.js'
import { isOfFile, isRefusal } from './file-errors.js'
import type { PlannedFile } from './import-plan.js'
import { ImportProgress } from './import-progress.js'
import { ImportReport, type FileResult } from './import-report.js'
import {
  countMessageFile,
  importMessageFile,
  rejectUnsupportedFormat,
  type MessageFileOptions,
} from './message-file.js'

export interface ImportRunOptions extends Omit<MessageFileOptions, 'names'> {
  readonly json: boolean
}

export class ImportRun {
  private readonly names: ConversationNames
  private readonly progress: ImportProgress
  private readonly report: ImportReport

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
    this.names = new ConversationNames(ledger)
    this.progress = new ImportProgress(
      planned.some(({ path }) => path === '-') ? 0 : planned.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    const showsLines = !options.json && planned.length > 1 && ledger !== undefined && !process.stderr.isTTY
    this.report = new ImportReport(ledger, skipped, showsLines)
  }

  /** Imports all files and prints the result. */
  async run(): Promise<void> {
    const { report, progress } = this
    await this.importFiles()
    const seconds = progress.seconds()
    if (!report.hasConversation()) throw await report.nothingToImport(this.planned)
    const refusal = report.contextRefusal()
    if (this.options.json && refusal !== undefined) throw refusal
    if (this.options.json) await report.printDocument(seconds)
    else await report.printText(progress, seconds)
    if (refusal !== undefined) throw refusal
    if (report.hasRefusedNamed()) throw new CommandExit(EXIT.input)
  }

  private async importFiles(): Promise<void> {
    const { progress } = this
    await progress.start(this.ledger === undefined ? 'reading' : 'importing')
    const interrupt = watchInterrupt(() => {
      // Standard input may never have another line, so do not wait for one. Messages read so far are recorded.
      process.stdin.destroy()
      note('\nstopping after this message; everything recorded so far is kept. Press Ctrl-C again to stop now')
    })
    try {
      for (const file of this.planned) {
        const result = await this.importFile(file, interrupt.signal).catch((error: unknown) =>
          this.refusal(file, error),
        )
        progress.finishFile(file.bytes)
        await this.report.add(file, result)
      }
    } catch (error) {
      progress.stop()
      if (error !== interrupt.signal.reason) throw error
      note(`stopped after ${many(progress.messages, 'message')}; run the same import again to continue`)
      throw new CommandExit(EXIT.interrupted)
    } finally {
      progress.stop()
      interrupt.forget()
    }
  }

  /** One refused file does not end an import of several. Any other error does. */
  private refusal({ isFound }: PlannedFile, error: unknown): FileResult {
    if (!isOfFile(error) || (this.planned.length === 1 && !isFound)) throw error
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
      this.progress.add(bytes, true)
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
      this.progress.addItem(item, file.bytes)
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

  /** Adds to an error of standard input that the messages before it stay recorded. */
  private withRecorded(error: unknown): unknown {
    if (!isRefusal(error) || this.progress.messages === 0) return error
    return new LedgerError(
      error.kind,
      `${error.message} (${many(this.progress.messages, 'message')} before it ${this.progress.messages === 1 ? 'stays' : 'stay'} recorded; run the same import again to continue)`,
    )
  }
}
