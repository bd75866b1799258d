import { builtinModules } from 'node:module'
import { basename } from 'node:path'
import ts from 'typescript'
import { findNodes, moduleNamed, rootOf } from './syntax.mjs'

const srcLinesMax = 250
const indexLinesMax = 40
const vagueNames = new Set(
  'util utils helper helpers common constants manager coordinator handler handlers'.split(' '),
)
const builtinErrors = new Set(['Error', 'TypeError', 'RangeError', 'SyntaxError', 'AggregateError'])
const suites = new Set(['it', 'test', 'describe', 'suite'])

const isSrc = (path) => /^packages\/[^/]+\/src\/.*\.ts$/.test(path)
const isTest = (path) => /^test\/.*\.ts$/.test(path)
const isCode = (path) => /\.(ts|js|mjs)$/.test(path)
const isIndex = (path) => isSrc(path) && basename(path) === 'index.ts'
const isBuiltin = (name) => name.startsWith('node:') || builtinModules.includes(name)

/** A rule on the modules that a file names. */
const importRule = (name, covers, judge) => ({
  name,
  covers,
  find: (file) =>
    findNodes(file, (node) => {
      const named = moduleNamed(node)
      return named !== undefined && judge(named)
    }),
})

const lengthRule = (name, covers, linesMax) => ({
  name,
  covers,
  find({ text }) {
    const lines = text.trimEnd().split('\n').length
    return lines <= linesMax ? [] : [{ line: linesMax + 1, say: `${lines} lines, at most ${linesMax}` }]
  },
})

const nodeRule = (name, covers, judge) => ({ name, covers, find: (file) => findNodes(file, judge) })

const isDefaultExport = (node) =>
  ts.isExportAssignment(node) ||
  node.kind === ts.SyntaxKind.DefaultKeyword ||
  (ts.isExportSpecifier(node) && node.name.text === 'default')

const isSilentSkip = (node) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false
  if (node.expression.name.text !== 'skip') return false
  const says = node.arguments.some((each) => ts.isStringLiteralLike(each) || ts.isTemplateExpression(each))
  return suites.has(rootOf(node.expression)) || !says
}

export const codeRules = [
  lengthRule('src-length', isSrc, srcLinesMax),
  lengthRule('index-length', isIndex, indexLinesMax),
  nodeRule(
    'index-lists',
    isIndex,
    (node) =>
      node.parent?.kind === ts.SyntaxKind.SourceFile &&
      node.kind !== ts.SyntaxKind.EndOfFileToken &&
      !(ts.isExportDeclaration(node) && node.moduleSpecifier) &&
      'an index only re-exports',
  ),
  {
    name: 'vague-name',
    covers: isCode,
    find({ path }) {
      const vague = path.split(/[/.-]/).filter((word) => vagueNames.has(word))
      return vague.map((word) => ({ line: 1, say: `"${word}" is not the noun` }))
    },
  },
  importRule(
    'core-without-node',
    (path) => path.startsWith('packages/session-core/src/'),
    (named) => isBuiltin(named) && `session-core runs anywhere, but imports ${named}`,
  ),
  importRule(
    'cordis-at-the-edge',
    (path) => isSrc(path) && !/\/src\/(cordis|deepseek)\.ts$/.test(path),
    (named) => /^(@deepseek-ai\/)?cordis$/.test(named) && `only cordis.ts and deepseek.ts name ${named}`,
  ),
  importRule(
    'fs-at-the-edge',
    (path) => isSrc(path) && basename(path) !== 'fs.ts',
    (named) => /^(node:)?fs(\/promises)?$/.test(named) && `only fs.ts imports ${named}`,
  ),
  nodeRule('no-default-export', isSrc, (node) => isDefaultExport(node) && 'exports have names'),
  nodeRule(
    'no-hash-private',
    isSrc,
    (node) => ts.isPrivateIdentifier(node) && 'a tracked service is a proxy, which #private breaks',
  ),
  nodeRule(
    'typed-errors',
    (path) => isSrc(path) && basename(path) !== 'errors.ts', // where assert itself is
    (node) =>
      ts.isThrowStatement(node) &&
      ts.isNewExpression(node.expression) &&
      builtinErrors.has(node.expression.expression.getText()) &&
      'throw a SessionError, or assert',
  ),
  nodeRule(
    'no-empty-catch',
    isCode,
    (node) => ts.isCatchClause(node) && node.block.statements.length === 0 && 'a catch names one thing',
  ),
  nodeRule(
    'no-only',
    isTest,
    (node) =>
      ts.isPropertyAccessExpression(node) &&
      node.name.text === 'only' &&
      suites.has(rootOf(node)) &&
      'the other tests would not run',
  ),
  nodeRule('no-silent-skip', isTest, (node) => isSilentSkip(node) && 'say why: context.skip("…")'),
]
