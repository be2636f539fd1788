/** The results of an import, and how it prints them. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { headOf } from '../../../application/importers/records-of.js'
import { importers } from '../../../application/importers/index.js'
import { unreadFormOf } from '../../../application/importers/unread-forms.js'
import { toWire } from '../../../domain/values/revision.js'
import type { ImportedConversation, ImportedTranscript, Ledger } from '../../../library/ledger.js'
import { titlesOf, type Titles } from '../../../library/titles.js'
import { colours, count, line, many, note, noteColours, printable, typed } from '../output.js'
import { duration } from '../progress.js'
import type { CountedTranscript } from './dry-run.js'
import type { PlannedFile } from './import-plan.js'
import type { ImportProgress } from './import-progress.js'
import { importedLine, type ImportedFile } from './imported-file.js'
import { addTranscript, conversationLine, hasContent, noTranscripts, totalsLine } from './imported-transcript.js'
import { plannedImport, plannedLines, type PlannedImport } from './planned-import.js'

/** Maximum number of skipped files that are listed. */
const MAX_LISTED_FILES = 10
/** Maximum number of skipped files that are read to name what they are. */
const MAX_READ_FILES = 1_000
const NO_HEAD = { path: '', records: [], text: '-' }

/** The result of one file. */
export type FileResult =
  | { readonly kind: 'messages'; readonly imported: ImportedFile }
  | { readonly kind: 'transcript'; readonly imported: ImportedTranscript | CountedTranscript }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'refused'; readonly reason: string }

export class ImportReport {
  private readonly files: ImportedFile[] = []
  private readonly transcripts: ImportedTranscript[] = []
  private readonly totals = noTranscripts()
  /** Tokens of transcripts in a dry run. */
  private transcriptTokens = 0
  /** Bytes of the files that contain a conversation. */
  private importedBytes = 0
  private readonly skipped: string[]
  /** Files that cannot be imported, with the reason. */
  private readonly refused: { readonly path: string; readonly isFound: boolean; readonly reason: string }[] = []

  /**
   * @param ledger undefined in a dry run
   * @param skipped files that the plan has skipped
   * @param showsLines whether each file is printed as soon as it is imported
   */
  constructor(
    private readonly ledger: Ledger | undefined,
    skipped: readonly string[],
    private readonly showsLines: boolean,
  ) {
    this.skipped = [...skipped]
  }

  async add(file: PlannedFile, result: FileResult): Promise<void> {
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

  /** Whether a file that the user named was refused. */
  hasRefusedNamed(): boolean {
    return this.refused.some(({ isFound }) => !isFound)
  }

  /** Whether a file had a conversation. A transcript with damage alone has none. */
  hasConversation(): boolean {
    return (
      this.files.length > 0 ||
      this.transcripts.some(({ damage, conversations }) => damage.length === 0 || conversations.some(hasContent))
    )
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

  /** The error for an import without a conversation. */
  async nothingToImport(planned: readonly PlannedFile[]): Promise<LedgerError> {
    const reasons = [
      ...this.refused.map(({ reason }) => reason),
      ...this.transcripts.flatMap(({ file, damage }) => damage.map(({ detail }) => `${file}: ${detail}`)),
    ]
    if (reasons.length > 0) return new LedgerError('MalformedInput', `nothing to import: ${reasons.join('; ')}`)
    const [only] = planned
    if (only === undefined || planned.length > 1 || only.isFound)
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
  contextRefusal(): LedgerError | undefined {
    for (const { conversationId, unusable } of this.files)
      if (unusable !== undefined)
        return new LedgerError(
          unusable.kind,
          `${conversationId} is recorded but has no context: ${unusable.message}; set a larger window with --model-max-tokens`,
        )
    return undefined
  }

  private planned(): PlannedImport | undefined {
    if (this.ledger !== undefined) return undefined
    return plannedImport({
      done: this.files,
      transcripts: this.transcripts,
      tokens: this.transcriptTokens,
      bytes: this.importedBytes,
    })
  }

  async printDocument(seconds: number): Promise<void> {
    const planned = this.planned()
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

  async printText(progress: ImportProgress, seconds: number): Promise<void> {
    const planned = this.planned()
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
      await line(colours.dim(`${many(progress.messages, 'message')} in ${duration(seconds)}, ${progress.rate()}`))
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
