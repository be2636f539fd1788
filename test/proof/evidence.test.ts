/** Evidence of what a model saw: verified by the script of the file, and by a program of another language. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hashOf } from '../../src/domain/values/hash.js'
import { openLedger, type Evidence } from '../../src/index.js'
import { evidenceFile } from '../../src/interfaces/page/evidence-file.js'
import { messagesOf, verifyEvidence, type Verified } from '../../src/interfaces/page/client/evidence/verify.js'
import { hasPython, verifyIndependently } from '../support/independent-verifier.js'
import { CONVERSATION, converse, LARGE, openProvableLedger, type ProvableLedger } from '../support/provable-ledger.js'
import { longTest } from '../support/length.js'

let opened: ProvableLedger
let answers: readonly { readonly messageId: string; readonly revision: number; readonly answered: string }[]

beforeAll(async () => {
  opened = await openProvableLedger()
  await opened.ledger.admin.proofs.createCheckpoint({ key: opened.key })
  const found = []
  for await (const { type, data, revision } of opened.ledger.log(CONVERSATION))
    if (type === 'MessageAppended' && data.answers !== undefined)
      found.push({ messageId: data.messageId, revision, answered: data.answers.revision })
  answers = found
})
afterAll(async () => {
  await opened.close()
})

const verified = async (evidence: Evidence): Promise<Verified> => await verifyEvidence(JSON.stringify(evidence))
const problemsOf = ({ steps }: Verified): string[] =>
  steps.filter(({ state }) => state !== 'ok').map(({ name, sentence }) => `${name}: ${sentence}`)

describe('evidence', () => {
  it('of the newest answer is verified, with its summaries down to the messages', async () => {
    const { ledger } = opened
    const evidence = await ledger.admin.proofs.evidence(CONVERSATION)
    const result = await verified(evidence)
    expect(problemsOf(result)).toEqual([])
    const last = answers.at(-1)
    expect(result.answer?.data['messageId']).toBe(last?.messageId)
    const { messages, hash } = await ledger.context(CONVERSATION, { at: last?.answered ?? '' })
    expect(result.messages).toEqual(messages)
    expect(hashOf(result.messages)).toBe(hash)
    expect(result.summaries.some(({ sources }) => sources.length > 0)).toBe(true)
    const covered = result.summaries.flatMap((summary) => messagesOf(summary).map(({ data }) => data['messageId']))
    expect(new Set(covered).size).toBe(covered.length)
    expect(covered.length).toBeGreaterThan(20)
    expect(result.prompts).toHaveLength(1)
  })

  it('of an answer is what it answers, by its id or its revision', async () => {
    const { proofs } = opened.ledger.admin
    const [, , , , answer] = answers
    const byId = await proofs.evidence(CONVERSATION, { at: answer?.messageId ?? '' })
    expect(byId.context.revision).toBe(answer?.answered)
    expect(await proofs.evidence(CONVERSATION, { at: answer?.revision ?? 0 })).toEqual(byId)
    expect(await proofs.evidence(CONVERSATION, { at: answer?.answered ?? '' })).toEqual(byId)
    expect(problemsOf(await verified(byId))).toEqual([])
  })

  it('of a moment that no event names says that it is not proven', async () => {
    const evidence = await opened.ledger.admin.proofs.evidence('other')
    const result = await verified(evidence)
    expect(problemsOf(result)).toEqual([
      expect.stringMatching(/^Context: The log does not record that the model received exactly/u),
    ])
    expect(result.events.some(({ data }) => data['content'] === LARGE)).toBe(true)
  })

  it('needs a checkpoint that covers it, and keeps the first one that does', async () => {
    const { proofs } = opened.ledger.admin
    const [first] = await proofs.checkpoints()
    const before = await proofs.evidence(CONVERSATION)
    await converse(opened.ledger, 4, 100)
    await expect(proofs.evidence(CONVERSATION)).rejects.toMatchObject({ kind: 'NoSuchCheckpoint' })
    const second = await proofs.createCheckpoint({ key: opened.key })
    const last = await proofs.evidence(CONVERSATION)
    expect(last.checkpoint.note).toBe(second.note)
    const { revision, stream } = before.context.statedBy ?? { revision: '', stream: '' }
    expect(stream).toBe(`conversation-${CONVERSATION}`)
    expect(await proofs.evidence(CONVERSATION, { at: revision })).toEqual(before)
    const later = await proofs.evidence(CONVERSATION, { at: revision, size: second.size })
    expect(problemsOf(await verified(later))).toEqual([])
    await expect(proofs.evidence(CONVERSATION, { size: first?.size ?? 0 })).rejects.toMatchObject({
      kind: 'NoSuchCheckpoint',
    })
    await expect(proofs.evidence(CONVERSATION, { size: 3 })).rejects.toMatchObject({ kind: 'NoSuchCheckpoint' })
    await expect(proofs.evidence('none')).rejects.toMatchObject({ kind: 'NoSuchConversation' })
  })

  longTest('is verified by a program of another language, which finds what does not belong together', async () => {
    const { proofs } = opened.ledger.admin
    const evidence = await proofs.evidence(CONVERSATION)
    const otherEvidence = await proofs.evidence('other')
    const made = [evidence, otherEvidence, await proofs.evidence(CONVERSATION, { at: answers[3]?.messageId ?? '' })]
    const wrong: Evidence[] = [
      { ...evidence, checkpoint: { ...evidence.checkpoint, note: evidence.checkpoint.note.replace('\n1', '\n2') } },
      { ...evidence, events: evidence.events.slice(1) },
      { ...evidence, context: { ...evidence.context, text: otherEvidence.context.text } },
      { ...evidence, conversationId: 'other' },
      { ...evidence, summaries: evidence.summaries.map((summary) => ({ ...summary, batchId: 'b' })) },
    ]
    const files = await Promise.all([...made, ...wrong].map(evidenceFile))
    // Without Python, the script alone.
    const verdicts = hasPython ? verifyIndependently(files) : ['valid', 'valid', 'valid']
    expect(verdicts.slice(0, 3)).toEqual(['valid', 'valid', 'valid'])
    expect(verdicts.slice(3)).not.toContain('valid')
    for (const each of wrong) {
      const result = await verified(each).then(problemsOf, String)
      expect(result).not.toEqual([])
    }
  })
})

it('is not made of an erasable ledger, whose texts must end with their keys', async () => {
  const ledger = await openLedger({ store: 'memory', erasable: true })
  try {
    await ledger.append('a', { role: 'user', content: 'Alma lies at berth 4.' })
    await ledger.admin.proofs.createCheckpoint({ key: opened.key })
    await expect(ledger.admin.proofs.evidence('a')).rejects.toMatchObject({ kind: 'EvidenceOfErasable' })
    expect(await ledger.admin.verify()).toMatchObject({ ok: true })
  } finally {
    await ledger.close()
  }
})
