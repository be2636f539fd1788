/**
 * Conversations for tests that want real ones: a few small ones, or with CONTEXT_LEDGER_DATA every one of that folder.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { MessageInput } from '../../src/index.js'
import { jsonAs } from './json.js'

export interface RealConversation {
  readonly id: string
  readonly messages: readonly MessageInput[]
}

function conversationIn(path: string): RealConversation {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => jsonAs<MessageInput & { readonly type?: string; readonly id?: string }>(line))
  const header = lines.find(({ type }) => type === 'conversation')
  return {
    id: header?.id ?? path,
    messages: lines.filter(({ role, type }) => typeof role === 'string' && (type === undefined || type === 'message')),
  }
}

const folder = process.env['CONTEXT_LEDGER_DATA'] ?? ''

/** True where the folder of all of them is there. */
export const hasAll = folder !== ''

/** The sample of the repository. */
export const sampleConversation = (): RealConversation => conversationIn(join('examples', 'sample-conversation.jsonl'))

/** The conversations: the sample of the repository, or all of the folder. */
export function* realConversations(): Generator<RealConversation> {
  if (!hasAll) {
    yield sampleConversation()
    return
  }
  for (const group of readdirSync(folder).toSorted()) {
    if (!statSync(join(folder, group)).isDirectory()) continue
    for (const file of readdirSync(join(folder, group)).toSorted()) {
      if (file.endsWith('.jsonl') && !/\.(?:questions|sessions|compactions)\.jsonl$/u.test(file))
        yield conversationIn(join(folder, group, file))
    }
  }
}
