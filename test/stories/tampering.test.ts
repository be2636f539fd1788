/**
 * An attacker with write access to the database: real conversations are compacted and verified; then `verify` finds each
 * kind of tampering and names its location. With CONTEXT_LEDGER_DATA it uses every conversation of that folder.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createManifestFile, createKeyFile, openManifestFile, readPrivateKey } from '../../src/library/compose.js'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import type { Ledger, Manifest, Problem } from '../../src/index.js'
import type { StreamHead } from '../../src/ports/manifest.js'
import type { Database } from '../../src/ports/sql.js'
import { createFoldInSummarizer } from '../../src/application/summarizers/index.js'
import { attack, ledgerOn, type Attacker } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { hasAll, realConversations } from '../support/real-conversations.js'
import { longTest, longDescribe } from '../support/length.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

jest.setTimeout(hasAll ? 3_600_000 : 120_000)

const POLICY = { modelMaxTokens: hasAll ? 8_000 : 2_400, buffer: 4 }
const summarizer = createFoldInSummarizer({
  model: createScriptedLanguageModel([
    // The end of the messages, before their closing tag, so that each summary contains words of them.
    ({ prompt }) => {
      const end = prompt.lastIndexOf('\n</')
      return `What was said: ${prompt
        .slice(end - 80, end)
        .replaceAll(/\s+/gu, ' ')
        .trim()}`
    },
  ]),
})

let db: Database
let ledger: Ledger
let folder: string
/** The conversation that is tampered with. It is not the last one in the log. */
const VICTIM = 'victim'
const STREAM = `conversation-${VICTIM}`

const locationsOf = (problems: readonly Problem[]): string[] =>
  problems.map(({ stream, revision, rule }) => `${rule} ${stream} ${revision.toString()}`)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-tampering-'))
  db = await openTestDatabase()
  // Its read models follow the log during the tampering, and report events that they cannot apply.
  ledger = await ledgerOn(db, { policy: POLICY, summarizer, onProblem: () => undefined })
  await ledger.append('earlier', { role: 'user', content: 'What the log begins with.' })
  let first = true
  for (const { id, messages } of realConversations()) {
    for (const name of first ? [VICTIM, id] : [id]) {
      for (const message of messages) {
        await ledger.append(name, message)
        await ledger.admin.waitForCompaction(name)
      }
    }
    first = false
  }
})

afterAll(async () => {
  await ledger.close()
  await db.close()
  await rm(folder, { recursive: true, force: true })
})

describe('verify', () => {
  it('finds no problem, and recomputes the request of every summary', async () => {
    const all = await ledger.admin.verify()
    expect(all.problems).toEqual([])
    expect(all.ok).toBe(true)
    expect(all.conversations).toBeGreaterThanOrEqual(2)
    expect(all.streams).toBeGreaterThan(all.conversations)
    expect(all.summaries.recomputed).toBeGreaterThan(5)
    expect(all.summaries.notRecomputed).toBe(0)
    const one = await ledger.admin.verify(VICTIM)
    expect(one).toMatchObject({ ok: true, conversations: 1, streams: 1 })
  })
})

describe('verify finds', () => {
  let attacker: Attacker
  beforeAll(async () => {
    attacker = await attack(db)
  })

  const found = async (id?: string): Promise<readonly Problem[]> => {
    const { ok, problems } = await ledger.admin.verify(id)
    expect(ok).toBe(problems.length === 0)
    return problems
  }
  const revisionsOf = async (type: string): Promise<string[]> =>
    (
      await db.query<{ revision: string }>(
        'select revision from events where stream = $1 and type = $2 order by revision',
        [STREAM, type],
      )
    ).map(({ revision }) => revision)
  /** Swaps the positions of two events of a stream, through a temporary position because positions are unique. */
  const swapPositions = async (stream: string, revisionA: number, revisionB: number): Promise<void> => {
    const [positionA, positionB] = (
      await db.query<{ position: string }>(
        'select position from events where stream = $1 and revision in ($2, $3) order by revision',
        [stream, revisionA, revisionB],
      )
    ).map(({ position }) => position)
    for (const [revision, position] of [
      [revisionA, '-100'],
      [revisionB, positionA],
      [revisionA, positionB],
    ])
      await attacker.run('update events set position = $3 where stream = $1 and revision = $2', [
        stream,
        revision,
        position,
      ])
  }
  /** Runs work, undoes its tampering, and checks that no problem remains. */
  const withUndo = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } finally {
      await attacker.undo()
    }
    await ledger.admin.projections.rebuild('all')
    expect(await found()).toEqual([])
  }

  it('a change of one event’s data', async () => {
    await withUndo(async () => {
      await attacker.run(
        `update events set data = replace(data, '"role"', '"r0le"') where stream = $1 and revision = 5`,
        [STREAM],
      )
      expect(locationsOf(await found())).toContain(`hash ${STREAM} 5`)
      expect((await found(VICTIM))[0]).toMatchObject({
        stream: STREAM,
        conversationId: VICTIM,
        revision: 5,
        rule: 'hash',
      })
    })
  })

  it('a removed event', async () => {
    await withUndo(async () => {
      await attacker.run('delete from events where stream = $1 and revision = 5', [STREAM])
      const problems = await found()
      expect(locationsOf(problems)[0]).toBe(`order ${STREAM} 6`)
      expect(problems[0]?.detail).toContain('in place of revision 5: that event is missing')
    })
  })

  longTest('a removed last event, with the recorded revision unchanged', async () => {
    await withUndo(async () => {
      await attacker.run(
        'delete from events e where stream = $1 and revision = (select max(revision) from events where stream = $1)',
        [STREAM],
      )
      expect(locationsOf(await found())[0]).toBe(`order ${STREAM} -1`)
    })
  })

  longTest('a removed row of a stream', async () => {
    await withUndo(async () => {
      await attacker.run('delete from streams where stream = $1', [STREAM])
      const problems = await found()
      expect(locationsOf(problems)).toEqual([`order ${STREAM} -1`])
      expect(problems[0]?.detail).toContain('the store says that the stream ends at revision -1')
    })
  })

  longTest('two swapped events', async () => {
    await withUndo(async () => {
      await attacker.run('update events set revision = -revision where stream = $1 and revision in (5, 6)', [STREAM])
      await attacker.run('update events set revision = 11 + revision where stream = $1 and revision in (-5, -6)', [
        STREAM,
      ])
      expect(locationsOf(await found())).toEqual(expect.arrayContaining([`hash ${STREAM} 5`, `hash ${STREAM} 6`]))
    })
  })

  longTest('two events with swapped positions, which a read by revisions does not notice', async () => {
    await withUndo(async () => {
      await swapPositions(STREAM, 5, 6)
      expect(locationsOf(await found())).toEqual([`order ${STREAM} 6`])
    })
  })

  longTest('all events of a conversation removed, with the recorded revision unchanged', async () => {
    await withUndo(async () => {
      await attacker.run('delete from events where stream = $1', [STREAM])
      const problems = await found()
      expect(locationsOf(problems)).toEqual([`order ${STREAM} -1`])
      expect(problems[0]?.detail).toContain('the events from 0 on are missing')
      expect(locationsOf(await found(VICTIM))).toEqual([`order ${STREAM} -1`])
    })
  })

  it('a changed summary', async () => {
    const [revision = ''] = await revisionsOf('ChunkSummarized')
    await withUndo(async () => {
      await attacker.run(
        `update events set data = replace(data, 'What was said', 'What was not said') where stream = $1 and revision = $2`,
        [STREAM, revision],
      )
      expect(locationsOf(await found())[0]).toBe(`hash ${STREAM} ${revision}`)
    })
  })

  longTest('a changed summary with a recomputed chain: the batch made from it does not match', async () => {
    const [revision = ''] = await revisionsOf('ChunkSummarized')
    const [archive = ''] = await revisionsOf('BatchArchived')
    await withUndo(async () => {
      await attacker.run(
        `update events set data = replace(data, 'What was said', 'What was done') where stream = $1 and revision = $2`,
        [STREAM, revision],
      )
      await attacker.rechain(STREAM)
      expect(locationsOf(await found())).toContain(`figures ${STREAM} ${archive}`)
    })
  })

  longTest(
    'a changed message that was summarized, with a recomputed chain: the request of its summary does not match',
    async () => {
      await withUndo(async () => {
        // Replaces the last letter before a closing quote: the length, and so every token count, stays the same.
        await attacker.run(
          `update events set data = regexp_replace(data, '[a-z](","createdAt")', 'Z\\1') where stream = $1 and type = 'MessageAppended' and revision = (select min(revision) from events where stream = $1 and type = 'MessageAppended' and data ~ '"role":"user".*[a-z]","createdAt"')`,
          [STREAM],
        )
        await attacker.rechain(STREAM)
        const summaries = new Set(
          (await revisionsOf('ChunkSummarized')).map((revision) => `request ${STREAM} ${revision}`),
        )
        expect(locationsOf(await found()).filter((each) => summaries.has(each))).toHaveLength(1)
      })
    },
  )

  longTest('a changed prompt', async () => {
    await withUndo(async () => {
      const [{ stream } = { stream: '' }] = await db.query<{ stream: string }>(
        `select stream from events where stream like 'prompt-%' order by stream limit 1`,
      )
      await attacker.run(`update events set data = replace(data, 'You keep', 'You lose') where stream = $1`, [stream])
      await attacker.rechain(stream)
      expect(locationsOf(await found())).toContain(`prompt ${stream} 0`)
    })
  })

  it.each([
    [
      'changed',
      `update live_messages set tokens = tokens + 1 where conversation_id = 'victim' and revision = (select max(revision) from live_messages where conversation_id = 'victim')`,
      'live_messages: the row {"conversation_id":"victim","message_id":',
    ],
    [
      'removed',
      `delete from archive_messages where conversation_id = 'victim' and revision = 5`,
      'archive_messages: the row {"conversation_id":"victim","revision":"5"} is missing',
    ],
    [
      'added',
      `insert into archive_messages select conversation_id, 9999, message_id, author, created_at, terms, repeated, length, text, text_hash from archive_messages where conversation_id = 'victim' and revision = 5`,
      'archive_messages: the row {"conversation_id":"victim","revision":"9999"} is unexpected',
    ],
    [
      'with another summary',
      `update batches set content = '"nothing happened"' where ctid = (select ctid from batches where conversation_id = 'victim' limit 1)`,
      'batches: the row {"conversation_id":"victim","batch_id":',
    ],
    [
      'of an unknown conversation',
      `insert into live_messages select 'nobody', message_id, revision, role, created_at, tokens, pinned, body from live_messages limit 1`,
      'live_messages has rows of conversation-nobody, which is not in the log',
    ],
  ])('a row of a projection %s', async (_case, statement, message) => {
    // Readers use views; the names of the underlying tables end in the number of their generation.
    const tables = await db.query<{ name: string }>(
      `select relname as name from pg_class where relkind = 'r' and relname ~ '_g[0-9]+$'`,
    )
    const physical = statement.replaceAll(
      /\b(?:live_messages|archive_messages|batches)\b/gu,
      (table) => tables.find(({ name }) => name.replace(/_g\d+$/u, '') === table)?.name ?? table,
    )
    await withUndo(async () => {
      await attacker.run(physical)
      const problems = await found()
      expect(problems.map(({ rule }) => rule)).toEqual(problems.map(() => 'rows'))
      expect(problems.map(({ detail }) => detail)).toEqual([expect.stringContaining(message)])
    })
  })

  longDescribe(
    'tampering with the newest event, which stops the read models, but not the check of the log: the event',
    () => {
      const NEWEST = 'conversation-newest'
      const newest = 'where position = (select max(position) from events)'
      const lowerRevision = 'update streams set revision = revision - 1 where stream = $1'
      const lowerHead = 'update log_head set position = position - 1'
      const unknown = `insert into events select position + 1, revision + 1, gen_random_uuid(), stream, 'NobodyKnows', data, metadata from events ${newest}`

      beforeAll(async () => {
        for (const content of ['One.', 'Two.', 'Three.']) await ledger.append('newest', { role: 'user', content })
        await ledger.admin.projections.rebuild('all')
        attacker = await attack(db)
      })

      it.each([
        ['removed', [`delete from events ${newest}`], [`order ${NEWEST} -1`]],
        [
          'removed, and the stream’s revision lowered, but not the head of the log',
          [`delete from events ${newest}`, lowerRevision],
          [`order ${NEWEST} 2`],
        ],
        [
          'with another id',
          [`update events set id = gen_random_uuid() ${newest}`],
          [`hash ${NEWEST} 3`, `id ${NEWEST} 3`],
        ],
        ['after the recorded head of the log', [lowerHead], [`order ${NEWEST} 3`]],
        [
          'removed, and every count lowered: only the rows and a manifest reveal it',
          [`delete from events ${newest}`, lowerRevision, lowerHead],
          [],
        ],
        [
          'followed by one of an unknown type',
          [
            unknown,
            'update streams set revision = revision + 1 where stream = $1',
            'update log_head set position = position + 1',
          ],
          [`readable ${NEWEST} 4`],
        ],
        [
          'unchanged, but another event id in the checkpoints of the read models',
          [`update projection_checkpoints set event_id = 'of another log'`],
          [],
        ],
        [
          'unchanged, but the checkpoints of the read models after it',
          ['update projection_checkpoints set position = position + 1000, event_position = event_position + 1000'],
          [],
        ],
      ] as const)('%s', async (_case, statements, locations) => {
        await withUndo(async () => {
          for (const statement of statements) await attacker.run(statement, statement.includes('$1') ? [NEWEST] : [])
          // A ledger that is open now checks whether its rows belong to this log.
          const later = await ledgerOn(db, { onProblem: () => undefined })
          expect(locationsOf((await later.admin.verify()).problems)).toEqual(expect.arrayContaining([...locations]))
          for (const id of [undefined, 'newest']) {
            const { ok, problems } = await later.admin.verify(id)
            expect(ok).toBe(false)
            const rows = problems.filter(({ rule }) => rule === 'rows').map(({ detail }) => detail)
            expect(rows).toEqual(
              expect.arrayContaining(
                ['archive-index', 'live-messages', 'clip-archive', 'editions'].map((name) =>
                  expect.stringMatching(new RegExp(`^${name} .*(?:another log|NobodyKnows)`, 'u')),
                ),
              ),
            )
            expect(rows.join('\n')).not.toContain('anew')
          }
          await later.close()
        })
      })

      it('swapped with the one before it in the order of the log', async () => {
        await withUndo(async () => {
          await swapPositions(NEWEST, 2, 3)
          const later = await ledgerOn(db, { onProblem: () => undefined })
          expect(locationsOf((await later.admin.verify('newest')).problems)).toContain(`order ${NEWEST} 3`)
          await later.close()
        })
      })

      it('removed with every count lowered, found by the manifest whatever the rows are', async () => {
        const { header, heads } = {
          header: {
            ledger: 'x',
            origin: (await ledger.admin.identity()).origin ?? { stream: '', id: '' },
            takenAt: '2026-01-02T03:04:05.000Z',
          },
          heads: [] as StreamHead[],
        }
        await ledger.admin.verify(undefined, {
          onStream: async (head) => {
            heads.push(head)
          },
        })
        const manifest = {
          header,
          heads: async function* () {
            yield* heads
          },
        }
        await withUndo(async () => {
          for (const statement of [`delete from events ${newest}`, lowerRevision, lowerHead])
            await attacker.run(statement, statement === lowerRevision ? [NEWEST] : [])
          const later = await ledgerOn(db, { onProblem: () => undefined })
          for (const id of [undefined, 'newest'])
            expect(locationsOf((await later.admin.verify(id, { against: manifest })).problems)).toContain(
              `manifest ${NEWEST} 3`,
            )
          await later.close()
        })
      })
    },
  )

  longDescribe('a recomputed or cut chain, only with the manifest:', () => {
    const file = (): string => join(folder, 'ledger.manifest')
    const key = (): string => join(folder, 'operator.pem')
    let manifest: Manifest

    beforeAll(async () => {
      const fingerprint = await createKeyFile(key())
      const { name, origin } = await ledger.admin.identity()
      if (origin === undefined) throw new Error('the log is empty')
      const draft = await createManifestFile(
        file(),
        { ledger: name, origin, takenAt: '2026-01-02T03:04:05.000Z' },
        await readPrivateKey(key()),
      )
      const { ok } = await ledger.admin.verify(undefined, { onStream: (head) => draft.add(head) })
      const published = await draft.publish()
      if (!ok || published.fingerprint !== fingerprint) throw new Error('the manifest could not be created')
      manifest = await openManifestFile(file(), fingerprint)
    })

    it('no problem in the log that it was taken from, even after that has grown', async () => {
      expect((await ledger.admin.verify(undefined, { against: manifest })).problems).toEqual([])
      await ledger.append('later', { role: 'user', content: 'Another day.' })
      expect((await ledger.admin.verify(undefined, { against: manifest })).problems).toEqual([])
      attacker = await attack(db)
    })

    it('a changed last message, with a recomputed chain and rebuilt rows', async () => {
      await withUndo(async () => {
        // Replaces the last character of the content, so that its length stays; an escaped character counts as two.
        const content = String.raw`("content":"(?:[^"\\]|\\.)*)[A-Za-z.!?]"`
        await attacker.run(
          `update events set data = regexp_replace(data, $2, '\\1Z"') where stream = $1 and revision = (select max(revision) from events where stream = $1 and type = 'MessageAppended' and data ~ $2)`,
          [STREAM, content],
        )
        await attacker.rechain(STREAM)
        await ledger.admin.projections.rebuild('all')
        expect(await found()).toEqual([])
        const { problems } = await ledger.admin.verify(undefined, { against: manifest })
        expect(problems).toEqual([
          expect.objectContaining({
            stream: STREAM,
            rule: 'manifest',
            detail: expect.stringContaining('hash chain recomputed'),
          }),
        ])
        expect((await ledger.admin.verify(VICTIM, { against: manifest })).problems).toHaveLength(1)
      })
    })

    it('a removed end with every count lowered and the rows rebuilt', async () => {
      await withUndo(async () => {
        await attacker.run(
          'delete from events where stream = $1 and revision = (select max(revision) from events where stream = $1)',
          [STREAM],
        )
        await attacker.run('update streams set revision = revision - 1 where stream = $1', [STREAM])
        await ledger.admin.projections.rebuild('all')
        expect(await found()).toEqual([])
        const { problems } = await ledger.admin.verify(undefined, { against: manifest })
        expect(problems).toEqual([
          expect.objectContaining({
            stream: STREAM,
            rule: 'manifest',
            detail: expect.stringContaining('the stream was cut'),
          }),
        ])
      })
    })

    it('a removed stream', async () => {
      await withUndo(async () => {
        await attacker.run('delete from events where stream = $1', [STREAM])
        await attacker.run('delete from streams where stream = $1', [STREAM])
        await ledger.admin.projections.rebuild('all')
        const { problems } = await ledger.admin.verify(undefined, { against: manifest })
        expect(problems).toEqual([
          expect.objectContaining({
            stream: STREAM,
            rule: 'manifest',
            detail: expect.stringContaining('the stream is missing'),
          }),
        ])
        expect((await ledger.admin.verify(VICTIM, { against: manifest })).problems).toEqual(problems)
        await expect(ledger.admin.verify(VICTIM)).rejects.toThrow('there is no conversation')
      })
      await withUndo(async () => {
        await attacker.run('delete from events where stream = $1', [STREAM])
        const { problems } = await ledger.admin.verify(undefined, { against: manifest })
        expect(problems.find(({ rule }) => rule === 'manifest')).toMatchObject({
          stream: STREAM,
          detail: expect.stringContaining('the stream is missing'),
        })
      })
    })

    it('a manifest that was changed, is invalid, or has another signer', async () => {
      const text = await readFile(file(), 'utf8')
      const lines = text.trimEnd().split('\n')
      const otherManifest = join(folder, 'other.manifest')
      const open = async (changed: string, signedBy?: string): Promise<string> => {
        await writeFile(otherManifest, changed)
        return await openManifestFile(otherManifest, signedBy).then(
          () => 'accepted',
          (error: { readonly kind?: string }) => String(error.kind),
        )
      }
      expect(await open(text)).toBe('accepted')
      expect(
        await open(
          text.replace(
            /"revision":"(\d+)"/u,
            (_all, revision: string) => `"revision":"${String(Number(revision) - 1)}"`,
          ),
        ),
      ).toBe('ManifestChanged')
      expect(await open([...lines.slice(0, 1), ...lines.slice(2)].join('\n'))).toBe('ManifestChanged')
      expect(await open(lines.slice(0, -1).join('\n'))).toBe('ManifestChanged')
      expect(await open('')).toBe('NoManifest')
      expect(await open('{"a":1}\n')).toBe('NoManifest')
      expect(await open(text, `sha256:${'0'.repeat(64)}`)).toBe('OtherSigner')
      // Changes one byte at a time, at 200 offsets of the file.
      for (let at = 0; at < text.length; at += Math.max(1, Math.floor(text.length / 200))) {
        const changed = `${text.slice(0, at)}${text[at] === 'a' ? 'b' : 'a'}${text.slice(at + 1)}`
        expect({ at, result: await open(changed) }).not.toEqual({ at, result: 'accepted' })
      }
    })
  })
})
