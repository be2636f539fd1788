/**
 * Coverage, read from the facts alone and without our own fold: each message is live, or pruned and covered by exactly
 * one active batch chain. Gives one sentence for each message or prune that breaks it.
 */
import type { RecordedEvent } from '../../src/domain/events/index.js'

export interface CoverageOptions {
  /** What an edition recorded that the conversation adopted. */
  readonly edition?: readonly RecordedEvent[]
  /** The messages that are live in the state, if those are to be compared. */
  readonly liveAtEnd?: readonly string[]
}

/** What is wrong at the end of these facts. */
export function coverageProblems(
  events: readonly RecordedEvent[],
  { edition = [], liveAtEnd }: CoverageOptions = {},
): string[] {
  const problems: string[] = []
  const live = new Set<string>()
  const pruned = new Set<string>()
  const chunks = new Map<string, readonly string[]>()
  const covers = new Map<string, readonly string[]>()
  let active = new Set<string>()
  for (const event of edition) {
    if (event.type === 'BatchArchived') covers.set(event.data.batchId, event.data.messageIds)
    else if (event.type === 'BatchesResummarized')
      covers.set(
        event.data.batchId,
        event.data.sourceBatchIds.flatMap((source) => covers.get(source) ?? []),
      )
  }
  for (const event of events) {
    if (event.type === 'MessageAppended') {
      if (live.has(event.data.messageId) || pruned.has(event.data.messageId))
        problems.push(`${event.data.messageId} is recorded twice`)
      live.add(event.data.messageId)
    } else if (event.type === 'ChunkSummarized') chunks.set(event.data.chunkId, event.data.messageIds)
    else if (event.type === 'BatchArchived') {
      if (JSON.stringify(chunks.get(event.data.chunkId)) !== JSON.stringify(event.data.messageIds))
        problems.push(`${event.data.batchId} covers other messages than its chunk`)
      covers.set(event.data.batchId, event.data.messageIds)
      active.add(event.data.batchId)
    } else if (event.type === 'BatchesResummarized') {
      for (const source of event.data.sourceBatchIds)
        if (!active.delete(source)) problems.push(`${event.data.batchId} condenses ${source}, which is not active`)
      covers.set(
        event.data.batchId,
        event.data.sourceBatchIds.flatMap((source) => covers.get(source) ?? []),
      )
      active.add(event.data.batchId)
    } else if (event.type === 'MessagesPruned') {
      for (const { batchId, messageIds } of event.data.pruned) {
        if (!active.has(batchId)) problems.push(`prunes for ${batchId}, which is not archived`)
        for (const id of messageIds) {
          if (!live.delete(id)) problems.push(`prunes ${id}, which is not live`)
          pruned.add(id)
        }
      }
      const carried = new Set(event.data.carried.batches.map(({ batchId }) => batchId))
      if (carried.size !== active.size || [...active].some((id) => !carried.has(id)))
        problems.push(`cycle ${String(event.data.cycle)} carries other batches than are active`)
      active = carried
    } else if (event.type === 'EditionAdopted' || event.type === 'EditionReverted' || event.type === 'CycleUndone') {
      for (const id of event.data.left) {
        if (!live.delete(id)) problems.push(`${id} leaves and is not live`)
        pruned.add(id)
      }
      for (const { messageId } of event.data.restored) {
        if (!pruned.delete(messageId)) problems.push(`${messageId} comes back and had not left`)
        live.add(messageId)
      }
      for (const { batchId } of event.data.batches)
        if (!covers.has(batchId)) problems.push(`${batchId} is in force and was never recorded`)
      active = new Set(event.data.batches.map(({ batchId }) => batchId))
    }
  }
  const times = new Map<string, number>()
  for (const id of [...active].flatMap((batch) => covers.get(batch) ?? [])) times.set(id, (times.get(id) ?? 0) + 1)
  for (const id of pruned)
    if (times.get(id) !== 1) problems.push(`${id} is covered ${String(times.get(id) ?? 0)} times`)
  for (const id of times.keys()) if (live.has(id)) problems.push(`${id} is live and covered`)
  if (liveAtEnd !== undefined && [...live].toSorted().join(' ') !== [...liveAtEnd].toSorted().join(' '))
    problems.push('other messages are live than the facts say')
  return problems
}
