/**
 * One conversation that meets every type of fact: appended, pinned, folded twice, and made one batch of two; and an
 * edition of it, adopted and put back.
 */
import { NO_SECTIONS, type Event, type EventData, type ReplacementType } from '../../src/domain/events/index.js'
import {
  appended,
  archived,
  at,
  compactionCouldNotHelp,
  compactionFailed,
  configuration,
  configured,
  pinned,
  prunedBy,
  resummarized,
  summarized,
  summarizer,
  unpinned,
} from './builders.js'
import type { Part } from './projections.js'

const carried = (batchIds: readonly string[], compressed: number): ReturnType<typeof prunedBy>['data']['carried'] => ({
  ...prunedBy({}).data.carried,
  messagesCompressed: compressed,
  messagesAppended: compressed,
  batches: batchIds.map((batchId, place) => ({ batchId, revision: place + 1 })),
})

export const everyEvent: readonly Event[] = [
  configured({ scope: 'tenant-1' }),
  // Characters that Postgres refuses raw: NUL and a lone surrogate.
  appended('m1', { role: 'system', content: 'You keep the harbour log.\0', createdAt: at(1) }),
  appended('m2', { content: 'A lone \ud800 surrogate, and 北京 beside it', createdAt: at(2) }),
  appended('m3', {
    role: 'assistant',
    content: null,
    toolCalls: [{ id: 'call-1', type: 'function', function: { name: 'tides', arguments: '{"port":"Brest"}' } }],
  }),
  appended('m4', {
    role: 'tool',
    toolCallId: 'call-1',
    content: 'High water at 06:12',
    attributes: { source: 'tables' },
  }),
  appended('m5', { content: 'Remember the pilot: Anna', pinned: true }),
  appended('m6', {
    content: [
      { type: 'text', text: 'one part' },
      { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    ],
  }),
  pinned('m2', 2),
  summarized('c1', ['m3', 'm4']),
  archived('b1', ['m3', 'm4'], { chunkId: 'c1' }),
  prunedBy({ b1: ['m3', 'm4'] }, { carried: carried(['b1'], 2) }),
  unpinned('m2', 2),
  appended('m7', { content: 'after the first cycle', createdAt: at(20) }),
  compactionFailed(),
  summarized('c2', ['m2', 'm6']),
  archived('b2', ['m2', 'm6'], {
    chunkId: 'c2',
    sections: { ...NO_SECTIONS, decisions: ['to wait'] },
  }),
  prunedBy({ b2: ['m2', 'm6'] }, { cycle: 2, windowStart: 12, carried: carried(['b1', 'b2'], 4) }),
  resummarized('b3', ['b1', 'b2']),
  configured({ scope: 'tenant-1', estimator: 'another' }),
  appended('m8', { role: 'assistant', content: 'the last one', createdAt: at(30) }),
  compactionCouldNotHelp(),
]

type Batch = EventData<ReplacementType>['batches'][number]

const inForce = (batchId: string, depth: number, origin: Batch['origin']): Batch => {
  const { messageIds: _ids, chunkId: _chunk, ...batch } = archived(batchId, ['m2']).data
  return { ...batch, depth, origin }
}

const takeover = (
  adoptedAt: number | undefined,
): Omit<
  EventData<'EditionReverted'>,
  'editionId' | 'restores' | 'adoptedAt' | 'batches' | 'retired' | 'restored' | 'left'
> => {
  const { pruned: _pruned, why: _why, ...closing } = prunedBy({}).data
  return {
    ...closing,
    cycle: 1,
    carried: {
      ...closing.carried,
      messagesCompressed: 4,
      lineage: { since: 21, ...(adoptedAt === undefined ? {} : { edition: { editionId: 'e1', adoptedAt } }) },
    },
  }
}

/**
 * The same conversation, and an edition of it that is made, adopted, made further, put back and dropped; then a cycle
 * is undone.
 */
export const everyLine: readonly Part[] = [
  { events: everyEvent },
  {
    editionId: 'e1',
    events: [
      {
        type: 'EditionStarted',
        data: {
          editionId: 'e1',
          conversationId: 'a',
          configuration: configuration(),
          summarizer: { strategy: 'fold-in', provider: 'scripted', model: 'other' },
          conversationRevision: 20,
          pinned: [5],
        },
      },
      { type: 'EditionAdvanced', data: { conversationRevision: 12 } },
      compactionFailed(),
      summarized('e1-c1', ['m2', 'm3', 'm4'], {
        summarizer: summarizer({ usage: { promptTokens: 100, completionTokens: 10 } }),
      }),
      archived('e1-b1', ['m2', 'm3', 'm4'], { chunkId: 'e1-c1', firstRevision: 2, lastRevision: 4 }),
      prunedBy({ 'e1-b1': ['m2', 'm3', 'm4'] }),
      summarized('e1-c2', ['m6', 'm7'], {
        summarizer: summarizer({ reused: true, usage: { promptTokens: 90, completionTokens: 9 } }),
      }),
      archived('e1-b2', ['m6', 'm7'], { chunkId: 'e1-c2', firstRevision: 6, lastRevision: 12 }),
      prunedBy({ 'e1-b2': ['m6', 'm7'] }, { cycle: 2 }),
      resummarized('e1-b3', ['e1-b1', 'e1-b2']),
      { type: 'EditionAdvanced', data: { conversationRevision: 20 } },
    ],
  },
  {
    events: [
      {
        type: 'EditionAdopted',
        data: {
          ...takeover(21),
          editionId: 'e1',
          editionRevision: 10,
          conversationRevision: 20,
          batches: [inForce('e1-b3', 1, { editionId: 'e1', revision: 9 })],
          retired: ['b3'],
          restored: [],
          left: ['m7'],
        },
      },
    ],
  },
  { editionId: 'e1', events: [compactionCouldNotHelp()] },
  {
    events: [
      {
        type: 'EditionReverted',
        data: {
          ...takeover(undefined),
          editionId: 'e1',
          adoptedAt: 21,
          batches: [inForce('b3', 1, { revision: 17 })],
          retired: ['e1-b3'],
          restored: [{ ...appended('m7').data, revision: 12 }],
          left: [],
        },
      },
    ],
  },
  { editionId: 'e1', events: [{ type: 'EditionDropped', data: { editionId: 'e1' } }] },
  {
    events: [
      {
        type: 'CycleUndone',
        data: {
          ...takeover(undefined),
          undone: [{ cycle: 2, revision: 16 }],
          softLimitBackoffUntil: 28,
          batches: [inForce('b1', 0, { revision: 9 })],
          retired: ['b3'],
          restored: [{ ...appended('m2').data, revision: 2 }],
          left: [],
        },
      },
    ],
  },
]
