/**
 * Plants one defect in each of some files of `src`, runs the tests of the folders that use the file, and prints which
 * defects no test finds. The seed decides the files and the defects.
 *
 *   npx tsx scripts/plant-defects.ts [SEED] [NUMBER]
 *
 * Each file is written back before the next one. Do not run it in a checkout with changes.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { randomOf } from '../bench/support/text.js'

const [seed = 1, number = 30] = process.argv.slice(2).map(Number)

/** A change of some characters of a file. */
interface Defect {
  readonly from: number
  readonly to: number
  readonly text: string
  readonly line: number
}

/** Operators as they are formatted, each with the one that replaces it. */
const OPERATORS: Readonly<Record<string, string>> = {
  ' === ': ' !== ',
  ' !== ': ' === ',
  ' < ': ' <= ',
  ' <= ': ' < ',
  ' > ': ' >= ',
  ' >= ': ' > ',
  ' && ': ' || ',
  ' || ': ' && ',
  ' - ': ' + ',
  '(!': '(',
  ' true': ' false',
  ' false': ' true',
}
const OPERATOR = / (?:===|!==|<=?|>=?|&&|\|\||-) |(?<=\w)\(!|(?<=[:=?(] ?) (?:true|false)\b/gu
/** Lines without code that runs: comments, imports, types, and texts. */
const NO_CODE = /^\s*(?:\*|\/|import |export (?:type|interface) |type |interface |readonly )|['"`]/u

/** The defects that a file can have. */
function defectsOf(text: string): Defect[] {
  let from = 0
  return text.split('\n').flatMap((line, at) => {
    const start = from
    from += line.length + 1
    if (NO_CODE.test(line)) return []
    return Array.from(line.matchAll(OPERATOR), ({ 0: operator, index }) => ({
      from: start + index,
      to: start + index + operator.length,
      text: OPERATORS[operator] ?? operator,
      line: at + 1,
    }))
  })
}

/** The tests of a file: its folder by name, and those of its layer. */
function testsOf(path: string): string[] {
  const folders = readdirSync('test', { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  )
  const parts = path.split('/')
  const byFolder = folders.filter((folder) => parts.includes(folder))
  const shared = parts.includes('adapters') ? ['adapters', 'contracts'] : parts.includes('domain') ? ['domain'] : []
  const named = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) =>
    basename(file).startsWith(`${basename(path).replace(/\.tsx?$/u, '')}.`),
  )
  const all = [...new Set([...byFolder, ...shared, ...named])].map((test) => join('test', test))
  return all.length === 0 ? ['test/library', 'test/stories'] : all
}

/** Whether a test finds the defect that is in place. */
const isFound = (tests: readonly string[]): boolean =>
  spawnSync('npm', ['test', '--', ...tests, '--bail', '--silent'], { stdio: 'ignore', timeout: 600_000 }).status !== 0

const random = randomOf(seed)
const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/u.test(file))
  .map((file) => join('src', file))
  .toSorted()
  .map((path) => ({ path, order: random() }))
  .toSorted((a, b) => a.order - b.order)
let planted = 0
let found = 0
for (const { path } of files) {
  if (planted === number) break
  const text = readFileSync(path, 'utf8')
  const defects = defectsOf(text)
  const defect = defects[Math.floor(random() * defects.length)]
  if (defect === undefined) continue
  planted += 1
  const tests = testsOf(path)
  try {
    writeFileSync(path, text.slice(0, defect.from) + defect.text + text.slice(defect.to))
    const isRed = isFound(tests) || isFound(['test/laws', 'test/library', 'test/stories'])
    if (isRed) found += 1
    console.log(
      `${isRed ? 'found' : 'NOT FOUND'} ${path}:${String(defect.line)} ${JSON.stringify(text.slice(defect.from, defect.to))} -> ${JSON.stringify(defect.text)} (${tests.join(' ')})`,
    )
  } finally {
    writeFileSync(path, text)
  }
}
console.log(`${String(found)} of ${String(planted)} found`)
