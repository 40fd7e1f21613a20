// React Flow's browser build expects `jsxRuntime`, which React 18 does not ship for browsers.
{
  const make = (type, {children, ...props}, key) =>
    React.createElement(type, key === undefined ? props : {...props, key}, ...(children === undefined ? [] : [].concat(children)));
  window.jsxRuntime = {jsx: make, jsxs: make, Fragment: React.Fragment};
}
