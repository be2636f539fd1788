/** The file of `editions compare --questions`: one labelled question per line. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'
import type { LabelledQuestion } from '../../../library/ledger.js'
import { parseJsonLine } from '../json-line.js'

const questionLine = z.looseObject({
  question: z.string().min(1),
  evidence: z.array(z.string().min(1)).default([]),
  answerable: z.boolean().default(true),
})

/** Reads labelled questions. Questions without an answer or without evidence are skipped. */
export async function readQuestions(file: string): Promise<LabelledQuestion[]> {
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new LedgerError(
      'FileUnusable',
      `--questions ${file} ${codeOf(error) === 'ENOENT' ? 'does not exist' : `cannot be read: ${sentenceOf(error)}`}`,
    )
  })
  return content.split('\n').flatMap((text, at) => {
    if (text.trim() === '') return []
    const { question, evidence, answerable } = parseJsonLine(text, `${file}:${String(at + 1)}`, questionLine)
    return answerable && evidence.length > 0 ? [{ question, evidence }] : []
  })
}
