/** The rules for erased messages: each is named by an erasure, and what an erasure names is erased when it is completed. */
import type { EventData, RecordedEvent } from '../../domain/events/index.js'
import { isOfType } from '../recording/read-event.js'
import type { TextKeys } from '../sealing/text-keys.js'
import type { Finding } from './event-laws.js'

/** Follows the erasures of one conversation. */
export class ErasureWatch {
  private readonly erased = new Set<string>()
  /** Revisions of the messages that were readable when they were read. */
  private readonly readable = new Map<string, number>()
  /** Messages by the erasures that name them. */
  private readonly requested = new Map<string, readonly string[]>()
  private readonly completed = new Set<string>()
  /** The stored marks that keep erased texts from being recorded again, by erasure. */
  private readonly marks = new Map<string, Pick<EventData<'ErasureRequested'>, 'fingerprints' | 'subject'>>()

  /** True if a text that was read was erased before the end. */
  isErasedMeanwhile = false

  take(event: RecordedEvent): void {
    if (isOfType(event, 'MessageAppended')) {
      const { messageId, erased } = event.data
      if (erased === true) this.erased.add(messageId)
      else this.readable.set(messageId, event.revision)
    } else if (isOfType(event, 'ErasureRequested')) {
      const { erasureId, messages, fingerprints, subject } = event.data
      this.requested.set(
        erasureId,
        messages?.map(({ messageId }) => messageId) ?? [...this.erased, ...this.readable.keys()],
      )
      this.marks.set(erasureId, { fingerprints, subject })
    } else if (isOfType(event, 'ErasureCompleted')) this.completed.add(event.data.erasureId)
  }

  /**
   * @param isReadable whether the message at a revision can be read now: an erasure may have been completed since it was
   *   read
   */
  async end(isReadable: (revision: number) => Promise<boolean>): Promise<Finding[]> {
    const named = new Set([...this.requested.values()].flat())
    const unnamed = [...this.erased].find((messageId) => !named.has(messageId))
    const findings: Finding[] = []
    if (unnamed !== undefined)
      findings.push({
        rule: 'erasure',
        detail: `cannot read message ${unnamed}, which no erasure names: its key is lost`,
      })
    for (const [erasureId, messageIds] of this.requested) {
      const back = await this.firstReadable(messageIds, isReadable)
      if (back !== undefined && this.completed.has(erasureId))
        findings.push({ rule: 'erasure', detail: `can read message ${back}, which erasure ${erasureId} has erased` })
      if (!this.completed.has(erasureId))
        findings.push({
          rule: 'erasure',
          detail: `has an erasure that is not completed: \`erase --resume\` continues it`,
          isObservation: true,
        })
    }
    return findings
  }

  private async firstReadable(
    messageIds: readonly string[],
    isReadable: (revision: number) => Promise<boolean>,
  ): Promise<string | undefined> {
    for (const messageId of messageIds) {
      const revision = this.readable.get(messageId)
      if (revision === undefined) continue
      if (await isReadable(revision)) return messageId
      this.isErasedMeanwhile = true
    }
    return undefined
  }

  /** Marks that are missing in the tables: an import could then record erased texts again. */
  async missingMarks(keys: TextKeys): Promise<Finding[]> {
    const findings: Finding[] = []
    for (const [erasureId, { fingerprints = [], subject }] of this.marks) {
      const found = fingerprints.length === 0 ? new Set<string>() : await keys.findFingerprints(fingerprints)
      const missing = fingerprints.filter((fingerprint) => !found.has(fingerprint)).length
      if (missing > 0)
        findings.push({
          rule: 'erasure',
          detail: `has erasure ${erasureId}, of which ${String(missing)} of ${String(fingerprints.length)} fingerprints are missing in the table erased_fingerprints: an import could record its messages again. Restore the table`,
        })
      if (subject !== undefined && !(await keys.isSubjectErased(subject)))
        findings.push({
          rule: 'erasure',
          detail: `has erasure ${erasureId} of person ${subject}, who is not erased in the table key_subjects: texts about this person could be recorded again. Restore the table`,
        })
    }
    return findings
  }
}
