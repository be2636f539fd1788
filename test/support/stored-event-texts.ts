/**
 * The expected content of the fixtures under `test/fixtures/stored-events/`, by file name: every field of that version.
 * A file never changes. When a shape changes, its event here becomes what the upcaster returns, and a new file is
 * added.
 */
import {
  NO_SECTIONS,
  type Configuration,
  type Event,
  type EventData,
  type Sections,
  type StateOperation,
  type SummarizerRecord,
  type WorkingState,
} from '../../src/domain/events/index.js'
import { policySchema } from '../../src/domain/values/policy-settings.js'

const hash = (digit: string): string => digit.repeat(64)
const START = '2026-03-10T07:51:03.205Z'
const END = '2026-03-10T08:20:00.000Z'

const configuration: Configuration = {
  // A setting that is added later has its value for older events.
  policy: policySchema.parse({
    modelMaxTokens: 8_000,
    contextBudget: 0.8,
    systemReserve: 100,
    outputReserve: 200,
    safetyBuffer: 300,
    chunkSize: 20,
    chunkMinTokens: 1_480,
    chunkMaxTokens: 76_800,
    keepRecent: 5,
    clipFirst: 2,
    clipMiddle: 1,
    clipLast: 2,
    buffer: 6,
    maxSummaryTokens: 370,
    temperature: 0,
    view: 'clip-archive',
    shape: 'openai',
    fallback: 'extractive',
  }),
  settings: { model: 'gpt-4o', modelMaxTokens: 8_000, systemReserve: 100, outputReserve: 200, safetyBuffer: 300 },
  rendererVersion: 1,
  estimator: 'characters-by-script-1',
  scope: 'harbour',
}

const compactionObserved: EventData<'CompactionObserved'> = {
  chunkId: 'observed-1',
  program: 'claude-code',
  programVersion: '2.1.219',
  sourceId: '9f2d',
  trigger: 'auto',
  at: START,
  summary: { kind: 'text', text: 'The crane is to be mended by Friday.' },
  covered: {
    messageIds: ['u1', 'u2'],
    startTime: START,
    endTime: END,
    messageCount: 2,
    firstRevision: 2,
    lastRevision: 3,
  },
  unknown: ['u2'],
  coversMissing: true,
  context: [
    { kind: 'inserted', body: { role: 'user', content: 'The crane is to be mended by Friday.' }, isSummary: true },
    { kind: 'missing', sourceId: '77aa' },
    { kind: 'message', messageId: 'u3', content: '[old result left out]' },
  ],
  told: {
    tokensBefore: 155_000,
    tokensAfter: 12_000,
    durationMs: 41_250.5,
    model: 'claude-opus-4-5',
    usage: {
      inputTokens: 155_000,
      outputTokens: 2_100,
      cacheReadTokens: 150_000,
      cacheWriteTokens: 0,
      reasoningTokens: 40,
      cost: 0.42,
    },
  },
  where: { file: '/srv/sessions/0b6c.jsonl', line: 88 },
}

const summarizer: SummarizerRecord = {
  strategy: 'fold-in',
  provider: 'openai',
  model: 'gpt-4o-mini',
  parameters: { temperature: 0, maxOutputTokens: 619 },
  prompt: { name: 'fold-in-1', sha256: hash('a') },
  persona: { sha256: hash('b') },
  formatterVersion: 1,
  requestHash: hash('c'),
  responseId: 'resp-1',
  usage: { promptTokens: 1_200, completionTokens: 90 },
  durationMs: 812.5,
  fallback: true,
}

const sections: Sections = {
  ...NO_SECTIONS,
  completedWork: [{ file: 'src/berth.ts', action: 'edited', description: 'integer cents' }],
  decisions: ['Money is integer cents.'],
  currentState: ['Tests pass.'],
  openItems: ['Release 1.14.0.'],
  errors: ['A flaky test: fixed clock.'],
}

const takeover: Omit<EventData<'CycleUndone'>, 'undone' | 'softLimitBackoffUntil'> = {
  cycle: 1,
  windowStart: 4,
  tokensBefore: 3_100,
  tokensAfter: 2_900,
  batches: [
    {
      batchId: 'batch-3',
      label: `compaction-batch-sample-${END}`,
      depth: 0,
      startTime: START,
      endTime: END,
      messageCount: 2,
      firstRevision: 2,
      lastRevision: 3,
      content: `[depth:0|start:${START}|end:${END}|count:2]\nMoney is integer cents.`,
      sections,
      tokens: 6,
      origin: { editionId: '5d41402abc4b', revision: 8 },
    },
  ],
  retired: ['batch-1', 'batch-2'],
  restored: [
    {
      messageId: 'm00004',
      role: 'tool',
      content: 'ok',
      name: 'run',
      toolCallId: 'call_1',
      createdAt: START,
      tokens: 5,
      pinned: true,
      attributes: { kind: 'plan' },
      extra: { refusal: null },
      revision: 4,
    },
  ],
  left: ['m00005'],
  carried: {
    configuration,
    messagesCompressed: 2,
    messagesAppended: 27,
    originalTask: 1,
    leading: [0],
    kept: [{ revision: 1, pinned: true }],
    batches: [{ batchId: 'batch-3', revision: 32 }],
    chunks: [],
    compactedCalls: [{ callId: 'call_1', name: 'run', batchId: 'batch-3' }],
    lineage: { since: 32, edition: { editionId: '5d41402abc4b', adoptedAt: 32 } },
  },
  contextHash: hash('e'),
  viewHash: hash('f'),
  previous: 30,
}

const takeoverAfterWithdrawals: typeof takeover = {
  ...takeover,
  restored: takeover.restored.map((message) => ({ ...message, givenId: 'm00003' })),
  carried: { ...takeover.carried, withdrawn: { messages: 2, folded: 0 } },
}

const earlierEvents = {
  'ConversationConfigured-v1': { type: 'ConversationConfigured', data: configuration },
  'MessageAppended-v1': {
    type: 'MessageAppended',
    data: {
      messageId: 'm00002',
      role: 'assistant',
      content: [
        { type: 'text', text: 'NUL \u0000, half a pair \ud83d, 决定, 🚢' },
        { type: 'reasoning', signature: 'c2ln', nested: { deep: [1, null] } },
      ],
      name: 'bot',
      toolCalls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'run', arguments: '{"command":"npm test"}', strict: true },
        },
        { id: 'call_2', type: 'custom', custom: { input: 'x' } },
      ],
      toolCallId: 'call_0',
      createdAt: START,
      tokens: 61,
      pinned: true,
      attributes: { kind: 'plan', isError: false },
      extra: { refusal: null },
      answers: { revision: '12', hash: hash('d') },
    },
  },
  'MessageAppended-v2': {
    type: 'MessageAppended',
    data: {
      messageId: 'm00002~2',
      role: 'system',
      content: 'Be briefer.',
      createdAt: START,
      tokens: 5,
      leads: true,
      givenId: 'm00002',
    },
  },
  'MessagesWithdrawn-v1': {
    type: 'MessagesWithdrawn',
    data: {
      messages: [
        { messageId: 'm00002', revision: 2 },
        { messageId: 'm00003', revision: 9_007_199_254_740_991 },
      ],
      why: 'edited',
    },
  },
  'MessagePinned-v1': { type: 'MessagePinned', data: { messageId: 'm00002', revision: 9_007_199_254_740_991 } },
  'MessageUnpinned-v1': { type: 'MessageUnpinned', data: { messageId: 'm00002', revision: 2 } },
  'ChunkSummarized-v1': {
    type: 'ChunkSummarized',
    data: {
      chunkId: 'chunk-2',
      messageIds: ['m00002', 'm00003'],
      firstRevision: 2,
      lastRevision: 3,
      startTime: START,
      endTime: END,
      messageCount: 2,
      continues: 'chunk-1',
      summary: 'Money is integer cents.',
      sections,
      summarizer,
    },
  },
  'BatchArchived-v1': {
    type: 'BatchArchived',
    data: {
      batchId: 'batch-2',
      label: `compaction-batch-sample-${END}`,
      depth: 0,
      startTime: START,
      endTime: END,
      messageCount: 2,
      firstRevision: 2,
      lastRevision: 3,
      messageIds: ['m00002', 'm00003'],
      content: `[depth:0|start:${START}|end:${END}|count:2]\nMoney is integer cents.`,
      sections,
      tokens: 6,
      chunkId: 'chunk-2',
    },
  },
  'BatchesResummarized-v1': {
    type: 'BatchesResummarized',
    data: {
      batchId: 'batch-9',
      label: `compaction-batch-sample-${END}`,
      sourceBatchIds: ['batch-1', 'batch-2'],
      depth: 1,
      startTime: START,
      endTime: END,
      messageCount: 22,
      firstRevision: 2,
      lastRevision: 23,
      content: `[depth:1|start:${START}|end:${END}|count:22]\nA morning on the harbour.`,
      sections,
      tokens: 7,
      summarizer,
    },
  },
  'MessagesPruned-v1': {
    type: 'MessagesPruned',
    data: {
      cycle: 2,
      windowStart: 4,
      pruned: [{ batchId: 'batch-2', messageIds: ['m00002', 'm00003'] }],
      tokensBefore: 6_400,
      tokensAfter: 3_100,
      why: {
        trigger: 'soft',
        threshold: 5_920,
        terms: { modelMaxTokens: 8_000, systemReserve: 100, outputReserve: 200, safetyBuffer: 300, contextBudget: 0.8 },
      },
      carried: {
        configuration,
        messagesCompressed: 22,
        messagesAppended: 27,
        originalTask: 1,
        leading: [0],
        kept: [
          { revision: 1, pinned: true },
          { revision: 2, pinned: false },
        ],
        batches: [
          { batchId: 'batch-1', revision: 25 },
          { batchId: 'batch-2', revision: 30 },
        ],
        chunks: [28],
        compactedCalls: [{ callId: 'call_1', name: 'run', batchId: 'batch-2' }],
      },
      contextHash: hash('e'),
      viewHash: hash('f'),
      previous: 26,
    },
  },
  'MessagesPruned-v2': {
    type: 'MessagesPruned',
    data: {
      cycle: 2,
      windowStart: 4,
      pruned: [{ batchId: 'batch-2', messageIds: ['m00002', 'm00003'] }],
      tokensBefore: 6_400,
      tokensAfter: 3_100,
      why: {
        trigger: 'soft',
        threshold: 5_920,
        terms: { modelMaxTokens: 8_000, systemReserve: 100, outputReserve: 200, safetyBuffer: 300, contextBudget: 0.8 },
      },
      carried: {
        configuration,
        messagesCompressed: 22,
        messagesAppended: 27,
        withdrawn: { messages: 2, folded: 1 },
        originalTask: 1,
        leading: [0],
        kept: [
          { revision: 1, pinned: true },
          { revision: 2, pinned: false },
        ],
        batches: [
          { batchId: 'batch-1', revision: 25 },
          { batchId: 'batch-2', revision: 30 },
        ],
        chunks: [28],
        compactedCalls: [{ callId: 'call_1', name: 'run', batchId: 'batch-2' }],
      },
      contextHash: hash('e'),
      viewHash: hash('f'),
      previous: 26,
    },
  },
  'MessagesPruned-v3': {
    type: 'MessagesPruned',
    data: {
      cycle: 1,
      windowStart: 7,
      pruned: [{ batchId: 'batch-1', messageIds: ['u1', 'u2'] }],
      tokensBefore: 900,
      tokensAfter: 120,
      why: { trigger: 'observed' },
      carried: {
        configuration,
        messagesCompressed: 2,
        messagesAppended: 3,
        leading: [],
        kept: [{ revision: 4, pinned: false }],
        batches: [{ batchId: 'batch-1', revision: 6 }],
        chunks: [],
        compactedCalls: [],
        observed: { since: 1, program: 'claude-code', programVersion: '2.1.219', compaction: 5 },
      },
      contextHash: hash('e'),
      viewHash: hash('f'),
    },
  },
  'MessagesPruned-v4': {
    type: 'MessagesPruned',
    data: {
      cycle: 3,
      windowStart: 24,
      pruned: [{ batchId: 'batch-4', messageIds: ['m00009', 'm00010'] }],
      tokensBefore: 6_500,
      tokensAfter: 3_200,
      why: {
        trigger: 'hard',
        threshold: 7_400,
        terms: { modelMaxTokens: 8_000, systemReserve: 100, outputReserve: 200, safetyBuffer: 300, contextBudget: 0.8 },
      },
      carried: {
        configuration,
        messagesCompressed: 44,
        messagesAppended: 51,
        originalTask: 1,
        leading: [0],
        kept: [],
        batches: [
          { batchId: 'batch-3', revision: 32, depth: 1 },
          { batchId: 'batch-4', revision: 60, depth: 0 },
        ],
        chunks: [],
        compactedCalls: [],
      },
      contextHash: hash('e'),
      viewHash: hash('f'),
      previous: 31,
    },
  },
  'ConversationObserved-v1': {
    type: 'ConversationObserved',
    data: {
      program: 'claude-code',
      programVersion: '2.1.219',
      sourceId: '0b6c/agent-7',
      parent: { sourceId: '0b6c', conversationId: 'claude-code/0b6c', how: 'sub-agent', callId: 'toolu_1' },
      title: 'Mend the crane',
      cwd: '/srv/harbour',
      startedAt: START,
      where: { file: '/srv/sessions/0b6c.jsonl', line: 1 },
    },
  },
  'CompactionObserved-v1': { type: 'CompactionObserved', data: compactionObserved },
  'ContributionEdited-v1': {
    type: 'ContributionEdited',
    data: {
      messageId: 'u3',
      revision: 4,
      content: [{ type: 'text', text: '[old result left out]' }],
      why: 'pruned',
      at: END,
      where: { file: 'session.json', path: 'messages[3].parts[0]' },
    },
  },
  'TranscriptDamaged-v1': {
    type: 'TranscriptDamaged',
    data: { detail: 'is no JSON', where: { file: '/srv/sessions/0b6c.jsonl', line: 12 } },
  },
  'ErasureRequested-v1': {
    type: 'ErasureRequested',
    data: {
      erasureId: 'e-1',
      scope: 'subject',
      subject: '0a1b2c3d4e5f60718293a4b5',
      reason: 'request 12',
      messages: [{ messageId: 'u3', revision: 4 }],
      derived: ['whole', 'message:u3', 'chunk:chunk-1'],
      editions: ['5d41402abc4b'],
      epoch: 2,
    },
  },
  'ErasureRequested-v2': {
    type: 'ErasureRequested',
    data: {
      erasureId: 'e-1',
      scope: 'subject',
      subject: '0a1b2c3d4e5f60718293a4b5',
      reason: 'request 12',
      messages: [{ messageId: 'u3', revision: 4 }],
      derived: ['whole', 'message:u3', 'chunk:chunk-1'],
      editions: ['5d41402abc4b'],
      epoch: 2,
      fingerprints: [hash('1'), hash('2')],
    },
  },
  'ErasureCompleted-v1': {
    type: 'ErasureCompleted',
    data: {
      erasureId: 'e-1',
      receipt: {
        messages: 1,
        summaries: 1,
        editions: 1,
        keys: ['cl-0123456789ab-0a1b2c3d4e5f60718293a4b5-1'],
        vault: 'key folder /var/lib/keys',
        rows: ['archive-index'],
        filesCleaned: true,
      },
    },
  },
  'RetentionRulesSet-v1': {
    type: 'RetentionRulesSet',
    data: { scope: 'acme', keepAtLeast: 'P6M', eraseAfter: 'P2Y', reason: 'policy 7' },
  },
  'RetentionHoldPlaced-v1': {
    type: 'RetentionHoldPlaced',
    data: { holdId: '0a1b2c3d4e5f', conversationId: 'support/17', reason: 'case 41' },
  },
  'RetentionHoldReleased-v1': {
    type: 'RetentionHoldReleased',
    data: { holdId: '0a1b2c3d4e5f', reason: 'case 41 is closed' },
  },
  'RetentionRunStarted-v1': {
    type: 'RetentionRunStarted',
    data: {
      runId: 'run-1',
      due: [{ conversationId: 'support/17', lastMessageAt: '2025-01-01T00:00:00.000Z', eraseAfter: 'P2Y' }],
    },
  },
  'RetentionRunCompleted-v1': {
    type: 'RetentionRunCompleted',
    data: {
      runId: 'run-1',
      receipt: {
        erased: [{ conversationId: 'support/17', messages: 12, summaries: 2 }],
        kept: [{ conversationId: 'support/18', reason: 'hold' }],
      },
    },
  },
  'RuleJudged-v1': { type: 'RuleJudged', data: { rule: 'r30.1', judgement: 'confirmed' } },
  'RulesReviewed-v1': {
    type: 'RulesReviewed',
    data: {
      from: 0,
      upTo: 36,
      known: [],
      rules: [{ id: 'r30.1', revision: 30, start: 0, end: 19 }],
      repeated: [],
      ended: [],
      breaks: [{ rule: 'r30.1', revision: 34, call: 1 }],
      reviewer: {
        provider: 'openai',
        model: 'gpt-5-mini',
        parameters: { temperature: 0 },
        prompt: { name: 'rule-review-1', sha256: 'a'.repeat(64) },
        rejected: 0,
        usage: { promptTokens: 1_200, completionTokens: 80 },
        durationMs: 900,
      },
    },
  },
  'RuleAdded-v1': { type: 'RuleAdded', data: { text: 'Never push to main.' } },
  'ConversationTitled-v1': {
    type: 'ConversationTitled',
    data: { title: 'The date bug', where: { file: '/srv/sessions/0b6c.jsonl', line: 12 } },
  },
  'EditionReverted-v3': {
    type: 'EditionReverted',
    data: {
      editionId: '5d41402abc4b',
      adoptedAt: 32,
      ...takeover,
      carried: {
        ...takeover.carried,
        observed: {
          since: 1,
          program: 'claude-code',
          compaction: 5,
          edits: [{ messageId: 'u3', content: '[old result left out]' }],
        },
      },
      observed: { ...compactionObserved, revision: 5 },
    },
  },
  'SummarySetAside-v1': {
    type: 'SummarySetAside',
    data: {
      messageIds: ['m00002', 'm00003'],
      continues: 'chunk-1',
      summary: 'Money is integer cents, and never a float.',
      sections,
      summarizer,
    },
  },
  'CompactionFailed-v1': {
    type: 'CompactionFailed',
    data: {
      step: 'chunk',
      failure: 'timeout',
      detail: 'no answer within 60 s',
      trigger: 'hard',
      attempt: 3,
      retryAfterMessages: 2,
      strategy: 'fold-in',
      provider: 'openai',
      model: 'gpt-4o-mini',
      requestHash: hash('c'),
    },
  },
  'CompactionFailed-v2': {
    type: 'CompactionFailed',
    data: {
      step: 'chunk',
      failure: 'limit-reached',
      detail: 'the limit of 100000 tokens a day: 99000 are used, and this call needs about 4000',
      trigger: 'ahead',
      attempt: 1,
      retryAfterMessages: 0,
      strategy: 'fold-in',
      provider: 'openai',
      model: 'gpt-4o-mini',
      requestHash: hash('c'),
    },
  },
  'CompactionCouldNotHelp-v1': {
    type: 'CompactionCouldNotHelp',
    data: { reason: 'recent-messages', tokens: 6_400, limit: 5_920, trigger: 'soft', messageIds: ['m00026', 'm00027'] },
  },
  'EditionStarted-v1': {
    type: 'EditionStarted',
    data: {
      editionId: '5d41402abc4b',
      conversationId: 'sample',
      configuration,
      summarizer: { strategy: 'fold-in', provider: 'openai', model: 'gpt-4o-mini' },
      conversationRevision: 31,
      pinned: [1],
    },
  },
  'EditionAdvanced-v1': { type: 'EditionAdvanced', data: { conversationRevision: 27 } },
  'EditionDropped-v1': { type: 'EditionDropped', data: { editionId: '5d41402abc4b' } },
  'EditionCompared-v1': {
    type: 'EditionCompared',
    data: {
      editionId: '5d41402abc4b',
      editionRevision: 12,
      against: { editionId: '7d793037a076', editionRevision: 9 },
      conversationRevision: 31,
      figures: {
        against: {
          contextTokens: 5_100,
          viewTokens: 1_900,
          batches: 6,
          depth: 1,
          cycles: 3,
          messagesCompressed: 60,
          calls: 9,
          tokensBought: 21_000,
        },
        edition: {
          contextTokens: 4_700,
          viewTokens: 1_500,
          batches: 4,
          depth: 0,
          cycles: 2,
          messagesCompressed: 60,
          calls: 4,
          tokensBought: 12_000,
        },
      },
      viewLines: { same: 2, removed: 14, added: 11 },
      losses: [
        {
          kind: 'files',
          total: 7,
          against: { kept: 6, shown: 4 },
          edition: { kept: 5, shown: 5 },
          lost: {
            kept: { count: 2, items: [{ text: 'src/harbour/tides.ts', messageId: 'm00004', mentions: 3 }] },
            shown: { count: 0, items: [] },
          },
          gained: {
            kept: { count: 1, items: [{ text: '潮汐.csv', messageId: 'm00009', mentions: 1 }] },
            shown: { count: 1, items: [{ text: '潮汐.csv', messageId: 'm00009', mentions: 1 }] },
          },
        },
      ],
      evidence: {
        questions: 4,
        total: 5,
        against: 5,
        edition: 4,
        lost: { count: 1, items: [{ text: 'When is high water?', messageId: 'm00004', mentions: 1 }] },
        gained: { count: 0, items: [] },
      },
    },
  },
  'EditionAdopted-v2': {
    type: 'EditionAdopted',
    data: { editionId: '5d41402abc4b', editionRevision: 12, conversationRevision: 31, ...takeoverAfterWithdrawals },
  },
  'EditionReverted-v2': {
    type: 'EditionReverted',
    data: { editionId: '5d41402abc4b', restores: '7d793037a076', adoptedAt: 32, ...takeoverAfterWithdrawals },
  },
  'CycleUndone-v2': {
    type: 'CycleUndone',
    data: {
      undone: [
        { cycle: 3, revision: 30 },
        { cycle: 2, revision: 26 },
      ],
      softLimitBackoffUntil: 0,
      ...takeoverAfterWithdrawals,
    },
  },
  'EditionAdopted-v1': {
    type: 'EditionAdopted',
    data: { editionId: '5d41402abc4b', editionRevision: 12, conversationRevision: 31, ...takeover },
  },
  'EditionReverted-v1': {
    type: 'EditionReverted',
    data: { editionId: '5d41402abc4b', restores: '7d793037a076', adoptedAt: 32, ...takeover },
  },
  'CycleUndone-v1': {
    type: 'CycleUndone',
    data: {
      undone: [
        { cycle: 3, revision: 30 },
        { cycle: 2, revision: 26 },
      ],
      softLimitBackoffUntil: 47,
      ...takeover,
    },
  },
  'PromptRegistered-v1': {
    type: 'PromptRegistered',
    data: { name: 'fold-in-1', kind: 'template', sha256: hash('a'), text: 'Summarize {messages}\n' },
  },
} satisfies Readonly<Record<string, Event>>

const shapedConfiguration: Configuration = {
  ...configuration,
  policy: { ...configuration.policy, shape: 'gemini' },
  settings: { ...configuration.settings, shape: 'gemini' },
  rendererVersion: 4,
}

const elevenSections: Sections = {
  requests: ['Caroline asks for a berth by Friday.'],
  constraints: ['"Never touch harbour_prod."'],
  decisions: ['Money is integer cents, because floats lost a cent.'],
  facts: ['Berth 7 is 42 m long.'],
  completedWork: [{ file: 'src/berth.ts', action: 'edited', description: 'integer cents' }],
  errors: ['A flaky test: fixed with a fixed clock.'],
  openItems: ['Release 1.14.0.'],
  closedItems: ['Mend the crane.'],
  currentState: ['Tests pass.'],
  nextSteps: ['Tag the release.'],
  superseded: ['Berth 6 was meant first.'],
}

const rejectedAnswers = [
  {
    requestHash: hash('c'),
    failure: 'refused',
    detail: 'the answer is a refusal',
    text: 'I am sorry, but I cannot help with that.',
    responseId: 'resp-0',
    usage: { promptTokens: 1_200, completionTokens: 12, cachedTokens: 0 },
    durationMs: 700,
  },
]

const secondAnswer: SummarizerRecord = {
  ...summarizer,
  formatterVersion: 2,
  usage: { promptTokens: 2_440, completionTokens: 102, cachedTokens: 1_100 },
  rejectedAnswers,
  answeredRequestHash: hash('7'),
  overLimit: { tokens: 420, limit: 370 },
  shortened: { tokens: 510, limit: 370, text: 'Money is integer cents. And much more.' },
  asPlainText: true,
}

const shapedTakeover: typeof takeover = {
  ...takeover,
  batches: takeover.batches.map((batch) => ({ ...batch, sections: elevenSections })),
  carried: { ...takeover.carried, configuration: shapedConfiguration },
}

/** Versions that record the shape of contexts, eleven sections, and answers that were paid for and not taken. */
const shapedEvents = {
  'ConversationConfigured-v2': { type: 'ConversationConfigured', data: shapedConfiguration },
  'ChunkSummarized-v2': {
    type: 'ChunkSummarized',
    data: { ...earlierEvents['ChunkSummarized-v1'].data, sections: elevenSections, summarizer: secondAnswer },
  },
  'BatchArchived-v2': {
    type: 'BatchArchived',
    data: { ...earlierEvents['BatchArchived-v1'].data, sections: elevenSections },
  },
  'BatchesResummarized-v2': {
    type: 'BatchesResummarized',
    data: { ...earlierEvents['BatchesResummarized-v1'].data, sections: elevenSections, summarizer: secondAnswer },
  },
  'SummarySetAside-v2': {
    type: 'SummarySetAside',
    data: { ...earlierEvents['SummarySetAside-v1'].data, sections: elevenSections, summarizer: secondAnswer },
  },
  'MessagesPruned-v5': {
    type: 'MessagesPruned',
    data: {
      ...earlierEvents['MessagesPruned-v4'].data,
      carried: {
        ...earlierEvents['MessagesPruned-v4'].data.carried,
        configuration: shapedConfiguration,
        batches: [
          {
            batchId: 'batch-3',
            revision: 32,
            depth: 1,
            tokens: 310,
            startTime: START,
            endTime: END,
            messageCount: 42,
          },
          { batchId: 'batch-4', revision: 60, depth: 0, tokens: 41, startTime: END, endTime: END, messageCount: 2 },
        ],
      },
    },
  },
  'EditionStarted-v2': {
    type: 'EditionStarted',
    data: { ...earlierEvents['EditionStarted-v1'].data, configuration: shapedConfiguration },
  },
  'EditionAdopted-v3': {
    type: 'EditionAdopted',
    data: { ...earlierEvents['EditionAdopted-v2'].data, ...shapedTakeover },
  },
  'EditionReverted-v4': {
    type: 'EditionReverted',
    data: { editionId: '5d41402abc4b', adoptedAt: 32, ...shapedTakeover },
  },
  'CycleUndone-v3': { type: 'CycleUndone', data: { ...earlierEvents['CycleUndone-v2'].data, ...shapedTakeover } },
  'CompactionFailed-v3': {
    type: 'CompactionFailed',
    data: {
      ...earlierEvents['CompactionFailed-v1'].data,
      failure: 'refused',
      timesSent: 2,
      timeoutMs: 120_000,
      rejectedAnswers,
    },
  },
} satisfies Readonly<Record<string, Event>>

const renamedConfiguration: Configuration = {
  ...shapedConfiguration,
  policy: { ...shapedConfiguration.policy, fallback: 'none' },
  settings: { ...shapedConfiguration.settings, fallback: 'none' },
}

/** Versions whose fields have the usual names. */
const renamedEvents = {
  'ConversationConfigured-v3': { type: 'ConversationConfigured', data: renamedConfiguration },
  'EditionStarted-v3': {
    type: 'EditionStarted',
    data: { ...shapedEvents['EditionStarted-v2'].data, configuration: renamedConfiguration },
  },
  'ChunkSummarized-v3': shapedEvents['ChunkSummarized-v2'],
  'BatchesResummarized-v3': shapedEvents['BatchesResummarized-v2'],
  'SummarySetAside-v3': shapedEvents['SummarySetAside-v2'],
  'MessagesPruned-v6': {
    type: 'MessagesPruned',
    data: {
      ...shapedEvents['MessagesPruned-v5'].data,
      carried: {
        ...shapedEvents['MessagesPruned-v5'].data.carried,
        compactedCalls: takeover.carried.compactedCalls,
        lineage: { since: 31 },
      },
    },
  },
  'EditionAdopted-v4': { type: 'EditionAdopted', data: shapedEvents['EditionAdopted-v3'].data },
  'EditionReverted-v5': {
    type: 'EditionReverted',
    data: { ...earlierEvents['EditionReverted-v2'].data, ...shapedTakeover },
  },
  'CycleUndone-v4': {
    type: 'CycleUndone',
    data: { ...shapedEvents['CycleUndone-v3'].data, softLimitBackoffUntil: 63 },
  },
} satisfies Readonly<Record<string, Event>>

const workingState: WorkingState = {
  items: [
    {
      id: 'S2',
      kind: 'statement',
      by: 'user',
      text: 'The crane may lift 40 t.',
      sourceRevisions: [2],
      weight: 65,
      brief: '40 t.',
      day: '2026-03-10',
    },
    {
      id: 'S3',
      kind: 'statement',
      by: 'user',
      text: 'Make that 35 t.',
      sourceRevisions: [3],
      weight: 80,
      corrects: 'S2',
    },
    {
      id: 'O3',
      kind: 'open',
      by: 'agent',
      text: 'Release 1.14.0.',
      sourceRevisions: [2, 3],
      weight: 75,
      reason: 'The harbour waits for it.',
      next: 'Tag it.',
      files: ['CHANGELOG.md'],
      about: 'plan',
      untilEdit: true,
      endedAt: 7,
    },
  ],
}
const [heavy, lighter, open] = workingState.items
const operations: StateOperation[] = [
  ...[heavy, lighter, open].flatMap((item): StateOperation[] => (item === undefined ? [] : [{ op: 'add', item }])),
  { op: 'correct', id: 'S2', by: 'S3' },
  { op: 'close', id: 'O3', endedAt: 7 },
  { op: 'replace', id: 'S3', text: 'Make that 34 t.', sourceRevisions: [3, 4] },
  { op: 'drop', id: 'S2' },
]
const rejectedOperations = [{ operation: '{"op":"close","id":"O99"}', reason: 'no item has the id O99' }]

const inForce = (data: { readonly batches: EventData<'CycleUndone'>['batches'] }) => ({
  batches: data.batches.map((batch, at) => (at < data.batches.length - 1 ? batch : { ...batch, workingState })),
})

/** Version 4 and others: the working state, and the view that shows it. */
const stateEvents = {
  'ConversationConfigured-v4': {
    type: 'ConversationConfigured',
    data: { ...renamedConfiguration, policy: { ...renamedConfiguration.policy, view: 'working-state' } },
  },
  'EditionStarted-v4': {
    type: 'EditionStarted',
    data: {
      ...renamedEvents['EditionStarted-v3'].data,
      configuration: { ...renamedConfiguration, policy: { ...renamedConfiguration.policy, view: 'working-state' } },
    },
  },
  'ChunkSummarized-v4': {
    type: 'ChunkSummarized',
    data: { ...renamedEvents['ChunkSummarized-v3'].data, operations, stateRules: 'rules-1', rejectedOperations },
  },
  'SummarySetAside-v4': {
    type: 'SummarySetAside',
    data: { ...renamedEvents['SummarySetAside-v3'].data, operations, rejectedOperations },
  },
  'BatchArchived-v3': {
    type: 'BatchArchived',
    data: { ...shapedEvents['BatchArchived-v2'].data, workingState },
  },
  'EditionAdopted-v5': {
    type: 'EditionAdopted',
    data: { ...renamedEvents['EditionAdopted-v4'].data, ...inForce(renamedEvents['EditionAdopted-v4'].data) },
  },
  'EditionReverted-v6': {
    type: 'EditionReverted',
    data: { ...renamedEvents['EditionReverted-v5'].data, ...inForce(renamedEvents['EditionReverted-v5'].data) },
  },
  'CycleUndone-v5': {
    type: 'CycleUndone',
    data: { ...renamedEvents['CycleUndone-v4'].data, ...inForce(renamedEvents['CycleUndone-v4'].data) },
  },
} satisfies Readonly<Record<string, Event>>

export const storedEvents: Readonly<Record<`${Event['type']}-v${number}`, Event>> = {
  ...earlierEvents,
  ...shapedEvents,
  ...renamedEvents,
  ...stateEvents,
}
