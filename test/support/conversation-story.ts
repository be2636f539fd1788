/** One conversation that meets every type of fact: appended, pinned, folded twice, and made one batch of two. */
import type { Fact } from '../../src/domain/events.js'
import { appended, archived, at, compactionCouldNotHelp, compactionFailed, configured, pinned, prunedBy, resummarized, summarized, unpinned } from './builders.js'

const carried = (batchIds: readonly string[], compressed: number): ReturnType<typeof prunedBy>['data']['carried'] => ({
  ...prunedBy({}).data.carried,
  messagesCompressed: compressed,
  messagesAppended: compressed,
  batches: batchIds.map((batchId, place) => ({ batchId, revision: BigInt(place + 1) })),
})

export const everyFact: readonly Fact[] = [
  configured({ scope: 'tenant-1' }),
  // What Postgres refuses raw: NUL and a lone surrogate.
  appended('m1', { role: 'system', content: 'You keep the harbour log.\0', createdAt: at(1) }),
  appended('m2', { content: 'A lone \ud800 surrogate, and 北京 beside it', createdAt: at(2) }),
  appended('m3', { role: 'assistant', content: null, toolCalls: [{ id: 'call-1', type: 'function', function: { name: 'tides', arguments: '{"port":"Brest"}' } }] }),
  appended('m4', { role: 'tool', toolCallId: 'call-1', content: 'High water at 06:12', attributes: { source: 'tables' } }),
  appended('m5', { content: 'Remember the pilot: Anna', pinned: true }),
  appended('m6', { content: [{ type: 'text', text: 'one part' }, { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] }),
  pinned('m2', 2n),
  summarized('c1', ['m3', 'm4']),
  archived('b1', ['m3', 'm4'], { chunkId: 'c1' }),
  prunedBy({ b1: ['m3', 'm4'] }, { carried: carried(['b1'], 2) }),
  unpinned('m2', 2n),
  appended('m7', { content: 'after the first cycle', createdAt: at(20) }),
  compactionFailed(),
  summarized('c2', ['m2', 'm6']),
  archived('b2', ['m2', 'm6'], { chunkId: 'c2', sections: { completedWork: [], decisions: ['to wait'], currentState: [], pendingWork: [], errors: [] } }),
  prunedBy({ b2: ['m2', 'm6'] }, { cycle: 2, windowStart: 12n, carried: carried(['b1', 'b2'], 4) }),
  resummarized('b3', ['b1', 'b2']),
  configured({ scope: 'tenant-1', estimator: 'another' }),
  appended('m8', { role: 'assistant', content: 'the last one', createdAt: at(30) }),
  compactionCouldNotHelp(),
]
