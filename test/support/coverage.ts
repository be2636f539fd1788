/**
 * Coverage, read from the facts alone and without our own fold: each message is live, or pruned and covered by exactly one active batch
 * chain. Gives one sentence for each message or prune that breaks it.
 */
import type { RecordedFact } from '../../src/domain/events/index.js'

export interface CoverageOptions {
  /** What an edition recorded that the conversation adopted. */
  readonly edition?: readonly RecordedFact[]
  /** What is live by the state, where that is to be compared. */
  readonly liveAtEnd?: readonly string[]
}

/** What is wrong at the end of these facts. */
export function coverageProblems(facts: readonly RecordedFact[], { edition = [], liveAtEnd }: CoverageOptions = {}): string[] {
  const problems: string[] = []
  const live = new Set<string>()
  const pruned = new Set<string>()
  const chunks = new Map<string, readonly string[]>()
  const covers = new Map<string, readonly string[]>()
  let active = new Set<string>()
  for (const fact of edition) {
    if (fact.type === 'BatchArchived') covers.set(fact.data.batchId, fact.data.messageIds)
    else if (fact.type === 'BatchesResummarized') covers.set(fact.data.batchId, fact.data.sourceBatchIds.flatMap((source) => covers.get(source) ?? []))
  }
  for (const fact of facts) {
    if (fact.type === 'MessageAppended') {
      if (live.has(fact.data.messageId) || pruned.has(fact.data.messageId)) problems.push(`${fact.data.messageId} is recorded twice`)
      live.add(fact.data.messageId)
    } else if (fact.type === 'ChunkSummarized') chunks.set(fact.data.chunkId, fact.data.messageIds)
    else if (fact.type === 'BatchArchived') {
      if (JSON.stringify(chunks.get(fact.data.chunkId)) !== JSON.stringify(fact.data.messageIds)) problems.push(`${fact.data.batchId} covers other messages than its chunk`)
      covers.set(fact.data.batchId, fact.data.messageIds)
      active.add(fact.data.batchId)
    } else if (fact.type === 'BatchesResummarized') {
      for (const source of fact.data.sourceBatchIds) if (!active.delete(source)) problems.push(`${fact.data.batchId} condenses ${source}, which is not active`)
      covers.set(fact.data.batchId, fact.data.sourceBatchIds.flatMap((source) => covers.get(source) ?? []))
      active.add(fact.data.batchId)
    } else if (fact.type === 'MessagesPruned') {
      for (const { batchId, messageIds } of fact.data.pruned) {
        if (!active.has(batchId)) problems.push(`prunes for ${batchId}, which is not archived`)
        for (const id of messageIds) {
          if (!live.delete(id)) problems.push(`prunes ${id}, which is not live`)
          pruned.add(id)
        }
      }
      const carried = new Set(fact.data.carried.batches.map(({ batchId }) => batchId))
      if (carried.size !== active.size || [...active].some((id) => !carried.has(id))) problems.push(`cycle ${String(fact.data.cycle)} carries other batches than are active`)
      active = carried
    } else if (fact.type === 'EditionAdopted' || fact.type === 'EditionReverted' || fact.type === 'CycleUndone') {
      for (const id of fact.data.left) {
        if (!live.delete(id)) problems.push(`${id} leaves and is not live`)
        pruned.add(id)
      }
      for (const { messageId } of fact.data.restored) {
        if (!pruned.delete(messageId)) problems.push(`${messageId} comes back and had not left`)
        live.add(messageId)
      }
      for (const { batchId } of fact.data.batches) if (!covers.has(batchId)) problems.push(`${batchId} is in force and was never recorded`)
      active = new Set(fact.data.batches.map(({ batchId }) => batchId))
    }
  }
  const times = new Map<string, number>()
  for (const id of [...active].flatMap((batch) => covers.get(batch) ?? [])) times.set(id, (times.get(id) ?? 0) + 1)
  for (const id of pruned) if (times.get(id) !== 1) problems.push(`${id} is covered ${String(times.get(id) ?? 0)} times`)
  for (const id of times.keys()) if (live.has(id)) problems.push(`${id} is live and covered`)
  if (liveAtEnd !== undefined && [...live].toSorted().join(' ') !== [...liveAtEnd].toSorted().join(' ')) problems.push('other messages are live than the facts say')
  return problems
}
