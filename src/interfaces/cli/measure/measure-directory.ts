/** Reads the sessions of a directory into a ledger in memory, and counts what their programs forgot. */
import { lstat } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { headOf } from '../../../application/importers/records-of.js'
import { unreadFormOf } from '../../../application/importers/unread-forms.js'
import {
  measuredSession,
  type MeasuredSession,
  type ProgramSessions,
} from '../../../application/losses/measured-programs.js'
import { isOfType } from '../../../application/recording/read-event.js'
import type { CheckedRule } from '../../../domain/rules/rule.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { openLedger } from '../../../library/compose.js'
import type { ForgottenCycle, Ledger } from '../../../library/ledger.js'
import { sentenceOf } from '../../../ports/store-error.js'
import { isOfFile } from '../import/file-errors.js'
import { planImport, type PlannedFile } from '../import/import-plan.js'
import { ImportProgress } from '../import/import-progress.js'
import { many } from '../output.js'
import { hasContent } from '../import/imported-transcript.js'

/** A file without a session, and why it has none. */
interface SkippedFile {
  readonly file: string
  readonly reason: string
}

/** The sessions of a directory, by program and version. */
export interface Measurement {
  readonly programs: readonly ProgramSessions[]
  readonly skipped: readonly SkippedFile[]
}

const UNKNOWN_VERSION = 'unknown'

/** Why a file is no session. */
async function reasonOf(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isSymbolicLink() === true) return 'a link that leads out of the directory'
  const head = await headOf(path).catch(() => undefined)
  if (head === undefined) return 'not readable'
  const form = unreadFormOf(head)
  return form === undefined ? 'no session of a known program' : `looks like ${form.name}, ${form.reason}`
}

/** Orders versions by their numbers. */
const { compare } = new Intl.Collator('en', { numeric: true })

class DirectoryMeasurement {
  /** The files of each conversation, in the order of the directory. */
  readonly #files = new Map<string, string[]>()
  readonly #skipped: SkippedFile[] = []

  constructor(
    private readonly ledger: Ledger,
    private readonly directory: string,
  ) {}

  async run(): Promise<Measurement> {
    const { files, skipped } = await planImport([this.directory], undefined)
    if (files.some(({ isFound }) => !isFound))
      throw new LedgerError('Usage', `${this.directory} is a file: name the directory with the sessions`)
    await this.#importAll(files)
    for (const path of skipped) await this.#skip(path)
    this.#skipped.sort((a, b) => (a.file < b.file ? -1 : 1))
    if (this.#files.size === 0) throw this.#nothingToMeasure()
    return { programs: await this.#programs(), skipped: this.#skipped }
  }

  /** The path in the directory, the same on every machine. */
  #nameOf(path: string): string {
    return relative(this.directory, path).split(sep).join('/')
  }

  async #skip(path: string, reason?: string): Promise<void> {
    const file = this.#nameOf(path)
    const text = (reason ?? (await reasonOf(path))).replaceAll(path, file)
    this.#skipped.push({ file, reason: text.startsWith(`${file} `) ? text.slice(file.length + 1) : text })
  }

  async #importAll(files: readonly PlannedFile[]): Promise<void> {
    const progress = new ImportProgress(files.reduce((sum, { bytes }) => sum + bytes, 0))
    await progress.start('reading')
    try {
      for (const file of files) {
        await this.#import(file, progress)
        progress.finishFile(file.bytes)
      }
    } finally {
      progress.stop()
    }
  }

  async #import({ path, program, bytes }: PlannedFile, progress: ImportProgress): Promise<void> {
    if (program === undefined) {
      await this.#skip(path)
      return
    }
    try {
      const { conversations, damage } = await this.ledger.transcripts.import(path, {
        from: program,
        onItem: (item) => {
          progress.addItem(item, bytes)
        },
      })
      const recorded = conversations.filter(hasContent)
      if (recorded.length === 0) await this.#skip(path, damage[0]?.detail ?? 'no message')
      for (const { conversationId } of recorded) {
        const known = this.#files.get(conversationId)
        if (known === undefined) this.#files.set(conversationId, [this.#nameOf(path)])
        else known.push(this.#nameOf(path))
      }
    } catch (error) {
      if (!isOfFile(error)) throw error
      await this.#skip(path, sentenceOf(error))
    }
  }

  #nothingToMeasure(): LedgerError {
    const [first, ...rest] = this.#skipped
    const reasons =
      first === undefined
        ? ''
        : `; skipped ${first.file}: ${first.reason}${rest.length === 0 ? '' : `, and ${many(rest.length, 'more file')}`}`
    return new LedgerError('MalformedInput', `nothing to measure: ${this.directory} has no session${reasons}`)
  }

  async #programs(): Promise<ProgramSessions[]> {
    const groups = new Map<string, { program: string; version: string; sessions: MeasuredSession[] }>()
    for (const conversationId of this.#files.keys()) {
      const { program, version } = await this.#programOf(conversationId)
      const key = JSON.stringify([program, version])
      const group = groups.get(key) ?? { program, version, sessions: [] }
      groups.set(key, group)
      group.sessions.push(await this.#session(conversationId))
    }
    return [...groups.values()].toSorted(
      (a, b) => compare(a.program, b.program) || compare(a.version, b.version) || (a.version < b.version ? -1 : 1),
    )
  }

  async #programOf(conversationId: string): Promise<Pick<ProgramSessions, 'program' | 'version'>> {
    for await (const event of this.ledger.log(conversationId))
      if (isOfType(event, 'ConversationObserved'))
        return { program: event.data.program, version: event.data.programVersion ?? UNKNOWN_VERSION }
    throw new Error(`${conversationId} is of no program`)
  }

  async #session(conversationId: string): Promise<MeasuredSession> {
    const cycles: ForgottenCycle[] = []
    let rules: readonly CheckedRule[] = []
    await this.ledger.forgotten(conversationId, { onCycle: (cycle) => void cycles.push(cycle) })
    // Without a compaction there is nothing to compare the rules with.
    if (cycles.length > 0)
      await this.ledger.rules.check(conversationId, { onConversation: (check) => void ({ rules } = check) })
    return measuredSession({ conversationId, files: this.#files.get(conversationId) ?? [] }, cycles, rules)
  }
}

/** Counts what the programs of the sessions in a directory forgot. The same directory gives the same result. */
export async function measureDirectory(directory: string): Promise<Measurement> {
  const ledger = await openLedger({ store: 'memory', ahead: false })
  try {
    const measurement = await new DirectoryMeasurement(ledger, directory).run()
    const redact = await ledger.admin.secrets.redactor({ redaction: 'on' })
    return redact(measurement)
  } finally {
    await ledger.close()
  }
}
