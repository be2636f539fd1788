/**
 * The rules in documents that the agent read: a guide for contributors, instructions for agents. The agent follows them
 * while it has the document, and does not know them after a compaction.
 */
import { quote } from '../../domain/text/quote.js'
import { statesRule } from '../../domain/text/rules.js'
import { isSamePath, nameOf } from '../../domain/tools/call-query.js'
import type { StateEditor } from '../../domain/conversation/state-editor.js'
import type { StateItem } from '../../domain/events/index.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { isEdit, type Work } from '../loss-report/tool-calls.js'
import { newTexts, oldTexts } from './file-items.js'
import type { ResultLines } from './result-lines.js'

const DOCUMENT_RULES = 46
/** Documents about how the work is done. Others have rules for somebody else. */
const IS_GUIDE =
  /(?:^|\/)(?:(?:agents|claude|gemini|codex|copilot-instructions|contributing|conventions?|guidelines?|guide|develop(?:ment|ing)|release(?:s|-process)?|releasing|style(?:-?guide)?|coding-?style|testing|workflow|readme|rules)(?:[._-][\w.-]+)?\.(?:mdx?|mdc|rst|adoc|txt)|\.(?:cursor|windsurf|cline)rules)$/iu
/** Skills and templates of a program have rules for their own task. */
const OF_PROGRAM = /(?:^|\/)(?:node_modules|skills?|commands|templates?|plugins?|vendor)\//iu
const MOST_OF_DOCUMENT = 4
const MOST_DOCUMENTS = 4
const MOST_RULE = 160
const LEAST_RULE = 20
const SEPARATOR = ' / '

const plain = (line: string): string => line.replaceAll(/\*\*|__|^[#>\s]+|^\s*(?:[-*+]|\d+[.)])\s+/gu, '').trim()

/** The lines of a document that bind, without marks. */
function rulesIn(lines: readonly string[]): string[] {
  const rules = lines.map(plain).filter((line) => line.length >= LEAST_RULE && statesRule(line))
  return [...new Set(rules)].slice(0, MOST_OF_DOCUMENT).map((line) => quote(line.replaceAll(SEPARATOR, '/'), MOST_RULE))
}

/** The rules that each document has, by its path. */
class Guides {
  constructor(private readonly editor: StateEditor) {}

  get #items(): readonly StateItem[] {
    return this.editor.ofKind('fact').filter(({ about }) => about?.startsWith(ABOUT) === true)
  }

  #itemOf(path: string): StateItem | undefined {
    return this.#items.find(({ about = '' }) => isSamePath(about.slice(ABOUT.length), path))
  }

  set(path: string, rules: readonly string[], { revision, at }: ReportMessage): void {
    const known = this.#itemOf(path)
    if (known !== undefined) this.editor.drop(known)
    if (rules.length === 0) return
    this.editor.add({
      kind: 'fact',
      by: 'tool',
      text: `${nameOf(path)}${SAYS}${rules.join(SEPARATOR)}`,
      weight: DOCUMENT_RULES,
      about: `${ABOUT}${path}`,
      sourceRevisions: [revision],
      ...(at === undefined ? {} : { day: at.slice(0, 10) }),
    })
    for (const item of this.#items.slice(0, -MOST_DOCUMENTS)) this.editor.drop(item)
  }

  /** A change takes rules out of a document and brings others into it. */
  change(path: string, work: Work): void {
    const text = this.#itemOf(path)?.text
    const before = text === undefined ? [] : text.slice(text.indexOf(SAYS) + SAYS.length).split(SEPARATOR)
    const removed = new Set(oldTexts(work).flatMap((each) => rulesIn(each.split('\n'))))
    const added = newTexts(work).flatMap((each) => rulesIn(each.split('\n')))
    const left = oldTexts(work).length === 0 ? [] : before.filter((rule) => !removed.has(rule))
    this.set(path, [...new Set([...left, ...added])].slice(0, MOST_OF_DOCUMENT), work.by)
  }
}

const ABOUT = 'document '
const SAYS = ' says: '

const isGuide = (path: string): boolean => IS_GUIDE.test(path) && !OF_PROGRAM.test(path)

/** Brings the rules of the documents that the agent read or changed up to date. */
export function updateDocuments(editor: StateEditor, works: readonly Work[], lines: ResultLines): void {
  const guides = new Guides(editor)
  for (const work of works) {
    const paths = work.query.files.filter(isGuide)
    if (isEdit(work)) for (const path of paths) guides.change(path, work)
    else if (work.query.answer === 'files' && work.result !== undefined && paths.length === 1) {
      const rules = rulesIn(lines.of(work))
      if (rules.length > 0) guides.set(paths[0] ?? '', rules, work.result)
    }
  }
}
