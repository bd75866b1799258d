import ts from 'typescript'

/** Calls `visit` on each node of a file; what it returns is the finding at that node. */
export function findNodes({ path, text }, visit) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const found = []
  const walk = (node) => {
    const say = visit(node, source)
    if (say) found.push({ line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1, say })
    ts.forEachChild(node, walk)
  }
  walk(source)
  return found
}

/** The module that a node names: by import, re-export, dynamic import, import type or augmentation. */
export function moduleNamed(node) {
  const named = specifierOf(node)
  return named !== undefined && ts.isStringLiteralLike(named) ? named.text : undefined
}

function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isModuleDeclaration(node)) return node.name
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return node.arguments[0]
  return undefined
}

/** `it` of `it.concurrent.only`. */
export function rootOf(expression) {
  let at = expression
  while (ts.isPropertyAccessExpression(at) || ts.isCallExpression(at)) at = at.expression
  return ts.isIdentifier(at) ? at.text : undefined
}
