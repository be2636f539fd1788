/** Conversations that a person names by a part of their id or title. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  conversationNamed,
  conversationsMeant,
  conversationsNamed,
} from '../../src/interfaces/cli/find-conversation.js'
import { commands, groups } from '../../src/interfaces/cli/commands/index.js'
import { shortIds } from '../../src/interfaces/cli/short-ids.js'
import { mostSimilar } from '../../src/domain/text/similar.js'
import type { Ledger } from '../../src/index.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

const rows = [
  { conversationId: 'claude-code/3f0c2a54-1111', title: 'Fix the date bug' },
  { conversationId: 'claude-code/3f0d0000-2222', title: 'Fix' },
  { conversationId: 'codex/9aaa', title: 'Update the harbour log' },
  { conversationId: 'run-7', title: '检查目前项目的设计' },
  { conversationId: 'run-8' },
]

describe('a name means', () => {
  it.each([
    ['3f0c', ['claude-code/3f0c2a54-1111']],
    ['3F0C2', ['claude-code/3f0c2a54-1111']],
    ['claude-code/3f0c', ['claude-code/3f0c2a54-1111']],
    ['3f0', ['claude-code/3f0c2a54-1111', 'claude-code/3f0d0000-2222']],
    ['run', ['run-7', 'run-8']],
    ['fix', ['claude-code/3f0d0000-2222']],
    [' Fix the ', ['claude-code/3f0c2a54-1111']],
    ['harbour', ['codex/9aaa']],
    ['log update', ['codex/9aaa']],
    ['date', ['claude-code/3f0c2a54-1111']],
    ['the', ['claude-code/3f0c2a54-1111', 'codex/9aaa']],
    ['项目', ['run-7']],
    ['log 9aaa', ['codex/9aaa']],
    ['2222', ['claude-code/3f0d0000-2222']],
    ['arbour', []],
    ['', []],
  ])('%j: %j', (name, ids) => {
    expect(conversationsMeant(name, rows).map(({ conversationId }) => conversationId)).toEqual(ids)
  })

  it('every conversation that has a unique id, by that id', () => {
    const ids = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}(?:\/[a-z]{1,3})?$/u), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(ids, (conversationIds) => {
        const all = conversationIds.map((conversationId) => ({ conversationId }))
        for (const row of all) expect(conversationsMeant(row.conversationId, all)).toContain(row)
      }),
    )
  })
})

describe('the most similar texts', () => {
  it('are all items if they are few, and the text itself is the first', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ maxLength: 12 }), { minLength: 1, maxLength: 8 }), (texts) => {
        const [given = ''] = texts
        const found = mostSimilar(given, texts, (text) => [text], texts.length)
        expect(found.toSorted()).toEqual(texts.toSorted())
        expect(mostSimilar(given, [...texts, given.toLowerCase()], (text) => [text], 1)[0]?.toLowerCase()).toBe(
          given.toLowerCase(),
        )
      }),
    )
  })
})

/** The words that the documentation has where a command takes a conversation. */
function wordsOfDocumentation(): string[] {
  const pages = [
    'README.md',
    ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name)),
  ]
  const text = pages.flatMap((page) => (page.endsWith('.md') ? [readFileSync(page, 'utf8')] : [])).join('\n')
  const ofConversation = [...commands, ...groups.flatMap((group) => group.commands)].filter(({ words }) =>
    /[<[]conversations?(?:\.\.)?[\]>]/u.test(words),
  )
  const found = ofConversation.flatMap(({ words }) => {
    // A flag can have the name of a command: `--evidence DIR`.
    const [verb = ''] = words.split(/ [<[]/u)
    return [...text.matchAll(new RegExp(`(?<![\\w-])${verb} \\[?([A-Z]{2,})\\b`, 'gu'))].map(([, word = '']) => word)
  })
  // The command then takes something else.
  return [...new Set(found)].filter((word) => word !== 'EDITION' && word !== 'FILE')
}

describe('in a ledger', () => {
  let ledger: Ledger
  let empty: Ledger
  beforeAll(async () => {
    ledger = await ledgerOn(await openTestDatabase())
    empty = await ledgerOn(await openTestDatabase())
    for (const [id, content] of [
      ['run', 'Fix the date bug'],
      ['run-7', 'Look at the harbour log'],
      ['run-8', 'Look at the harbour'],
    ] as const)
      await ledger.append(id, { role: 'user', content })
  })
  afterAll(async () => {
    await ledger.close()
    await empty.close()
  })

  it('an exact id counts before the beginning of another', async () => {
    expect(await conversationNamed(ledger, 'run')).toBe('run')
  })

  it('each is found once', async () => {
    expect(await conversationsNamed(ledger, ['date bug', 'run', 'run-8'])).toEqual(['run', 'run-8'])
  })

  it('several are listed and refused', async () => {
    await expect(conversationNamed(ledger, 'harbour')).rejects.toMatchObject({
      kind: 'SeveralConversations',
      fault: 'input',
      message: expect.stringMatching(/may mean 2 conversations.*\n {2}run-\d {2}Look at the harbour/u),
      details: {
        conversations: expect.arrayContaining([{ conversationId: 'run-7', title: 'Look at the harbour log' }]),
      },
    })
  })

  it('an unknown one names the three nearest', async () => {
    await expect(conversationNamed(ledger, 'run-9')).rejects.toMatchObject({
      kind: 'NoSuchConversation',
      message: expect.stringMatching(/^there is no conversation "run-9" .*The nearest:(?:\n {2}run.*){3}$/u),
      details: { conversationId: 'run-9', nearest: [expect.anything(), expect.anything(), expect.anything()] },
    })
  })

  it('a word that is a placeholder for a conversation in the documentation is refused, though a title has it', async () => {
    const words = wordsOfDocumentation()
    expect(words).toEqual(expect.arrayContaining(['CONV', 'SESSION']))
    await ledger.append('about', { role: 'user', content: `About ${words.join(' ')} and conversation and id` })
    for (const word of [...words, '<session>', '[conversation]', 'ID'])
      await expect(conversationNamed(ledger, word)).rejects.toMatchObject({
        kind: 'NoSuchConversation',
        message: expect.stringMatching(/is a placeholder for a conversation.*The latest:(?:\n {2}.*){3}$/u),
      })
    await ledger.append('CONV', { role: 'user', content: 'hi' })
    expect(await conversationNamed(ledger, 'CONV')).toBe('CONV')
    expect(await conversationNamed(ledger, 'session')).toBe('about')
  })

  it('an empty ledger says how to fill it', async () => {
    await expect(conversationNamed(empty, 'run')).rejects.toMatchObject({
      kind: 'NoSuchConversation',
      message: expect.stringContaining('context-ledger import'),
    })
  })

  it('finds each listed conversation by the short id that `list` shows on a terminal', () => {
    const id = fc.tuple(fc.constantFrom('pi', 'claude-code', 'Pi'), fc.stringMatching(/^[0-9a-fA-F]{22,30}$/u))
    fc.assert(
      fc.property(fc.uniqueArray(id, { minLength: 1, selector: (parts) => parts.join('/').toLowerCase() }), (ids) => {
        const all = ids.map((parts) => ({ conversationId: parts.join('/') }))
        for (const [conversationId, shown] of shortIds(all.map((row) => row.conversationId))) {
          expect(shown.length < conversationId.length).toBe(true)
          expect(conversationsMeant(shown, all)).toEqual([{ conversationId }])
        }
      }),
    )
  })
})
