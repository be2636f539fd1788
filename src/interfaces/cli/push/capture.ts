/**
 * Reads transcripts into the queue: redacted, and only conversations that may leave this machine. The state of a
 * transcript is noted after its items are on the disk, so a process that ends at any moment loses nothing.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { createHash } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { GrowingLines } from '../../../application/importers/growing-lines.js'
import { growsByLines, importers, readAppendedRecords, readTranscript } from '../../../application/importers/index.js'
import type { ContentId } from '../../../application/importers/content-id.js'
import { markedContentId } from '../../../application/importers/pushed-ids.js'
import { headOf } from '../../../application/importers/records-of.js'
import type {
  DamageItem,
  Importer,
  TranscriptItem,
  TranscriptReader,
} from '../../../application/importers/transcript.js'
import type { ImportedTranscript } from '../../../library/ledger.js'
import { OUTSIDE, ProjectFilter } from './projects.js'
import type { PushFolder } from './push-folder.js'
import type { PushQueue, QueuedUpload } from './push-queue.js'

/** Replaces secrets. */
export interface ItemRedactor {
  text(text: string): { readonly value: string }
  json<Value>(value: Value): { readonly value: Value }
}

export interface CaptureOptions {
  readonly folder: PushFolder
  readonly queue: PushQueue
  /** The directories of `--project`, without links. */
  readonly projects: readonly string[]
  /** Undefined if redaction is off. */
  readonly redactor: ItemRedactor | undefined
  /** Whether transcripts that grow by lines are continued after the last line that was read. */
  readonly resumes: boolean
}

/** A transcript that was read as far as it went. */
interface Place {
  readonly program: string
  readonly lines: GrowingLines
  readonly reader: TranscriptReader
  readonly filter: ProjectFilter
  /** Undefined while it has no item that may be sent. */
  upload: QueuedUpload | undefined
  /** When it was last read, by `performance.now()`. */
  readAt: number
}

type Captured = Pick<ImportedTranscript, 'unchanged' | 'leftOut' | 'damage'> & {
  readonly upload: QueuedUpload | undefined
}

/** Counts of one reading. */
interface Reading {
  readonly leftOut: Record<string, number>
  readonly damage: DamageItem[]
}

/** A transcript without a change for this time needs no memory: it is read from its beginning when it changes. */
const IDLE_MS = 10 * 60_000
const UNCHANGED: Captured = { unchanged: true, leftOut: {}, damage: [], upload: undefined }

export class Capture {
  private readonly places = new Map<string, Place>()
  private readonly contentId: ContentId

  constructor(private readonly options: CaptureOptions) {
    const { redactor } = options
    this.contentId = markedContentId((text) => redactor?.text(text).value ?? text)
  }

  /** Reads the new items of a transcript into the queue. */
  async read(file: string, program: string): Promise<Captured> {
    const place = this.places.get(file)
    const state = await this.stateOf(file, program)
    if ((await this.options.folder.stateOf(file)) === state) return UNCHANGED
    if (place?.program === program) {
      const captured = await this.continued(file, place, state)
      if (captured !== undefined) return captured
    }
    await this.close(file)
    return await this.readFromStart(file, program, state)
  }

  /** Ends the memory of transcripts that have not changed for some time. */
  async closeIdle(): Promise<void> {
    const before = performance.now() - IDLE_MS
    for (const [file, { readAt }] of this.places) if (readAt < before) await this.close(file)
  }

  /** Ends the memory of all transcripts. Their uploads leave the queue when they are sent. */
  async closeAll(): Promise<void> {
    for (const file of this.places.keys()) await this.close(file)
  }

  private async close(file: string): Promise<void> {
    const upload = this.places.get(file)?.upload
    this.places.delete(file)
    if (upload !== undefined) await this.options.queue.close(upload)
  }

  private async continued(file: string, place: Place, state: string): Promise<Captured | undefined> {
    const handle = await open(file)
    try {
      if (!(await place.lines.isContinuation(handle))) return undefined
      const reading: Reading = { leftOut: {}, damage: [] }
      const records = readAppendedRecords(place.reader, place.lines.records(handle))
      const items = this.sendable(records, place.filter, reading)
      const { mtime } = await handle.stat()
      if (place.upload === undefined) place.upload = await this.add(file, place.program, mtime, items, true)
      else await this.options.queue.append(place.upload, items)
      place.readAt = performance.now()
      await this.options.folder.remember(file, state)
      return { unchanged: false, ...reading, upload: place.upload }
    } catch (error) {
      // The records are read, but their items may not be in the queue: the next reading begins at the start.
      await this.close(file)
      throw error
    } finally {
      await handle.close()
    }
  }

  private async readFromStart(file: string, program: string, state: string): Promise<Captured> {
    const importer = importers.find((each) => each.program === program)
    const layout = importer?.recognize(await headOf(file))
    if (importer === undefined || layout === undefined)
      throw new LedgerError('NotOfProgram', `${file} is not a ${program} transcript`)
    const reading: Reading = { leftOut: {}, damage: [] }
    const filter = new ProjectFilter(this.options.projects, file)
    const { mtime } = await stat(file)
    let upload: QueuedUpload | undefined
    const isRecent = Date.now() - mtime.getTime() < IDLE_MS
    if (this.options.resumes && isRecent && growsByLines(file, importer, layout)) {
      const lines = new GrowingLines(file)
      const reader = importer.read(file, this.contentId)
      const handle = await open(file)
      try {
        const items = this.sendable(readAppendedRecords(reader, lines.records(handle)), filter, reading)
        upload = await this.add(file, program, mtime, items, true)
      } finally {
        await handle.close()
      }
      this.places.set(file, { program, lines, reader, filter, upload, readAt: performance.now() })
    } else {
      const items = this.sendable(readTranscript(file, importer, layout, this.contentId), filter, reading)
      upload = await this.add(file, program, mtime, items, false)
    }
    await this.options.folder.remember(file, state)
    const leftOut = filter.excluded === 0 ? reading.leftOut : { ...reading.leftOut, [OUTSIDE]: filter.excluded }
    return { unchanged: false, leftOut, damage: reading.damage, upload }
  }

  private async add(
    source: string,
    program: string,
    writtenAt: Date,
    items: AsyncIterable<TranscriptItem>,
    isOpen: boolean,
  ): Promise<QueuedUpload | undefined> {
    return await this.options.queue.add({ program, source, writtenAt: writtenAt.toISOString() }, items, isOpen)
  }

  /** The redacted items that may be sent. */
  private async *sendable(
    items: AsyncIterable<TranscriptItem>,
    filter: ProjectFilter,
    { leftOut, damage }: Reading,
  ): AsyncGenerator<TranscriptItem> {
    for await (const item of items) {
      if (item.kind === 'left-out') leftOut[item.what] = (leftOut[item.what] ?? 0) + 1
      else
        for (const each of await filter.take(item)) {
          if (each.kind === 'damage') damage.push(each)
          // The service ignores a line that its program may still complete.
          if (each.kind !== 'damage' || !each.isCut) yield this.redacted(each)
        }
    }
  }

  private redacted(item: TranscriptItem): TranscriptItem {
    const { redactor } = this.options
    if (redactor === undefined) return item
    const { value } = redactor.json(item)
    if (item.kind === 'conversation' && value.kind === 'conversation' && value.sourceId !== item.sourceId)
      // Two redacted ids could be equal, and their conversations would be one.
      throw new LedgerError('BadId', `${item.where.file}: the id of the conversation contains a secret; it is not sent`)
    return value
  }

  /** The state of a transcript's files, and what else decides which of its items are sent. */
  private async stateOf(file: string, program: string): Promise<string> {
    const importer: Importer | undefined = importers.find((each) => each.program === program)
    const hash = createHash('sha256').update(JSON.stringify([program, this.options.projects]))
    for (const path of (await importer?.siblings?.(file)) ?? [file]) {
      const { dev, ino, size, mtimeMs } = await stat(path)
      hash.update(JSON.stringify([path, dev, ino, size, mtimeMs]))
    }
    return hash.digest('hex')
  }
}
