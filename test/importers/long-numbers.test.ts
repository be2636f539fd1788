/** A number that a double cannot represent is imported with all its digits, for every program. */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readTranscript, recognizeTranscript } from '../../src/application/importers/index.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { describeWithTranscripts, realTranscripts, transcriptsFolder } from '../support/real-transcripts.js'
import { ofKind, refusedIn } from './reading.js'
import { longTest } from '../support/length.js'

const LONG = '12345678901234567891'
const ROUNDED = /1234567890123456(?:7000|7168)/u

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'long-numbers-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function read(path: string): Promise<TranscriptItem[]> {
  const recognized = await recognizeTranscript(path)
  if (recognized === undefined) throw new Error(`${path} is no program's`)
  const items: TranscriptItem[] = []
  for await (const item of readTranscript(path, recognized.importer, recognized.layout, plainContentId))
    items.push(item)
  return items
}

it('arguments keep their text, and a part contains the digits as text', async () => {
  const path = join(folder, '0b6c2a52-6f0f-4b43-9a55-2f3d7a1c9e10.jsonl')
  const about = `"sessionId":"0b6c2a52-6f0f-4b43-9a55-2f3d7a1c9e10","timestamp":"2026-02-03T10:00:00.000Z","version":"2.1.0","cwd":"/srv","isSidechain":false,"userType":"external"`
  await writeFile(
    path,
    [
      `{"type":"user","uuid":"u1","parentUuid":null,${about},"message":{"role":"user","content":"who is it?"}}`,
      `{"type":"assistant","uuid":"a1","parentUuid":"u1",${about},"message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"who","input":{"id":${LONG}, "n": 1}}]}}`,
      `{"type":"user","uuid":"u2","parentUuid":"a1",${about},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"x_number","number":${LONG}}]}]}}`,
      '',
    ].join('\n'),
  )
  const messages = ofKind(await read(path), 'message')
  expect(messages.map(({ body }) => body.toolCalls?.[0]?.function?.arguments ?? body.content)).toEqual([
    'who is it?',
    `{"id":${LONG},"n":1}`,
    [{ type: 'x_number', number: LONG }],
  ])
})

/** The field in which a program writes tool arguments as an object. */
const OBJECT = /"(?<name>input|arguments|args|parameters)":(?<space>\s*)\{(?<more>\s*"|\s*\})/gu

describeWithTranscripts('in real transcripts', () => {
  longTest(
    'every message is unchanged, with the digits in its calls',
    async () => {
      const copied = join(folder, 'transcripts')
      await cp(transcriptsFolder, copied, { recursive: true })
      for (const name of await readdir(copied, { recursive: true })) {
        if (!/\.jsonl?$/u.test(name)) continue
        const text = await readFile(join(copied, name), 'utf8')
        const changed = text.replaceAll(
          OBJECT,
          (_all, field: string, space: string, more: string) =>
            `"${field}":${space}{"long":${LONG}${more.trim() === '}' ? '' : ','}${more}`,
        )
        if (changed !== text) await writeFile(join(copied, name), changed)
      }
      const withDigits = new Set<string>()
      for (const { name, path, program } of await realTranscripts()) {
        const before = await read(path)
        const after = await read(join(copied, name))
        const shape = (items: readonly TranscriptItem[]): unknown[] =>
          items.map((item) => [item.kind, item.kind === 'message' ? item.body.role : '', item.where.line])
        expect([name, shape(after)]).toEqual([name, shape(before)])
        expect([name, refusedIn(after)]).toEqual([name, refusedIn(before)])
        expect(JSON.stringify(after)).not.toMatch(ROUNDED)
        for (const { body } of ofKind(after, 'message'))
          for (const call of body.toolCalls ?? [])
            if (call.function?.arguments.startsWith(`{"long":${LONG}`) === true) withDigits.add(program)
      }
      expect([...withDigits].toSorted()).toEqual(['claude-code', 'codex', 'gemini', 'opencode', 'pi'])
    },
    120_000,
  )
})
