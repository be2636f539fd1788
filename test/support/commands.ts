/** Commands for tests of the decider. A field that the test omits has a plain default. */
import type { AppendMessages } from '../../src/domain/decide/append-messages.js'
import type { ArchiveAndPrune } from '../../src/domain/decide/archive-and-prune.js'
import type { Configure } from '../../src/domain/decide/configure.js'
import type { RecordChunk } from '../../src/domain/decide/record-summary.js'
import type { RecordResummarization } from '../../src/domain/decide/resummarize.js'
import type { MessageInput } from '../../src/domain/values/message.js'
import { at, summarizer } from './builders.js'
import { messageOf } from './harness.js'

/** When these commands come. */
export const NOW = at(99)

export const configure = (some: Partial<Configure> = {}): Configure => ({
  type: 'Configure',
  settings: undefined,
  scope: undefined,
  summarizerWindowTokens: 128_000,
  ...some,
})

export const append = (...messages: MessageInput[]): AppendMessages => ({
  type: 'AppendMessages',
  messages: messages.map(messageOf),
  now: NOW,
})

export const recordChunk = (...messageIds: string[]): RecordChunk => ({
  type: 'RecordChunk',
  messageIds,
  continues: undefined,
  summary: 'They talked.',
  summarizer: summarizer(),
})

export const resummarize = (...sourceBatchIds: string[]): RecordResummarization => ({
  type: 'RecordResummarization',
  sourceBatchIds,
  summary: 'All of it.',
  summarizer: summarizer(),
})

export const archiveAndPrune = (...chunkIds: string[]): ArchiveAndPrune => ({
  type: 'ArchiveAndPrune',
  chunkIds,
  trigger: 'soft',
})
