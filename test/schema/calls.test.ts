/** What the definitions of the calls say to those that use them. */
import { expect, it } from '@jest/globals'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

interface Call {
  readonly name: string
  readonly writes?: boolean
}

const isCall = (value: unknown): value is Call => typeof value === 'object' && value !== null && 'options' in value

async function allCalls(): Promise<readonly Call[]> {
  const folder = join('src', 'schema', 'calls')
  const modules = await Promise.all(
    readdirSync(folder).map(async (file) => {
      const definitions: object = await import(`../../src/schema/calls/${file.replace(/\.ts$/u, '.js')}`)
      return Object.values(definitions)
    }),
  )
  return modules.flat().filter(isCall)
}

/** A ledger that was opened with `readOnly`, or that another process keeps open, refuses these. */
it('a call that records something says so', async () => {
  const names = (await allCalls()).filter(({ writes }) => writes === true).map(({ name }) => name)
  expect([...new Set(names)].toSorted()).toEqual([
    'admin.erasure.resume',
    'admin.erasure.run',
    'admin.projections.fillVectors',
    'admin.projections.rebuild',
    'admin.proofs.createCheckpoint',
    'admin.proofs.storeCheckpoint',
    'admin.retention.hold',
    'admin.retention.release',
    'admin.retention.run',
    'admin.retention.set',
    'amend',
    'append',
    'compact',
    'compress',
    'editions.adopt',
    'editions.drop',
    'editions.evaluate',
    'editions.replay',
    'editions.revert',
    'editions.undo',
    'pin',
    'rules.add',
    'rules.confirm',
    'rules.drop',
    'rules.review',
    'transcripts.handoff',
    'transcripts.import',
    'transcripts.observe',
    'transcripts.open',
    'transcripts.receive',
    'unpin',
  ])
})
